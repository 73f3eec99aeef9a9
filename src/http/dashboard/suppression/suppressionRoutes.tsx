/** @jsxImportSource hono/jsx */
import type { SuppressionQuery } from "../../../../projections/suppressions.ts";
import {
  addSuppression,
  NOTE_CHARACTERS_MAX,
  removeSuppression,
} from "../../../commands/suppression/addOrRemoveSuppression.ts";
import { readSuppression, type Suppression } from "../../../commands/suppression/readSuppression.ts";
import { SUPPRESSION_REASONS } from "../../../domain/suppression/events.ts";
import { omitUndefined } from "../../../kernel/omitUndefined.ts";
import { type Address, parseAddress } from "../../../kernel/text/emailAddress.ts";
import { codePoints } from "../../../kernel/text/textLength.ts";
import { rfc3339, utcDay } from "../../../kernel/time.ts";
import { catchUpIfInTime, whenCaughtUp } from "../../lists/caughtUpReads.ts";
import { found, Problem } from "../../server/problem.ts";
import { findSuppressions, pageOfSuppressions } from "../../suppression/suppressionsController.ts";
import { asksFirst, type Confirmation } from "../components/confirmationPage.tsx";
import { type CsvColumns, csvResponse } from "../components/csvStream.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { fieldOf } from "../frame/formBody.ts";
import { pageAsked } from "../frame/listPaging.ts";
import { SuppressionList } from "./suppressionPage.tsx";

const WHY: Readonly<Record<string, string>> = {
  bounce:
    "Its own server has permanently refused it. If it still does, the next message bounces, and the address is suppressed again. Bounces harm your reputation as a sender.",
  complaint:
    "Its owner has reported a message as unwanted. Complaints harm your reputation as a sender more than anything else.",
  manual: "Somebody on your team added it by hand.",
};
const PATH = "/suppressions";

/** Listing, looking up, adding and removing addresses that get no mail. */
export function suppressionRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  const { deps, readModel } = options;
  return [
    get(PATH, "suppression:manage", (context) => listPage(options, context, {})),
    get(`${PATH}.csv`, "suppression:manage", (context) => csv(options, context)),
    post(PATH, "suppression:manage", async (context) => {
      const address = parseAddress(fieldOf(context.form, "address"));
      const note = fieldOf(context.form, "note") || null;
      const isLong = note !== null && codePoints(note) > NOTE_CHARACTERS_MAX;
      if ("invalid" in address || isLong) {
        const faults = {
          ...("invalid" in address ? { address: `The address ${address.invalid}.` } : {}),
          ...(isLong ? { note: `The note must have at most ${NOTE_CHARACTERS_MAX} characters.` } : {}),
        };
        return { ...(await listPage(options, context, faults)), status: 422 };
      }
      const { isNew } = await addSuppression(deps, { address, note }, context.commandContext());
      await catchUpIfInTime(readModel("suppressions"));
      const said = isNew ? "gets no more mail." : "was suppressed before: nothing has changed.";
      return context.seeOther(PATH, `${address.sent} ${said}`);
    }),
    ...removalRoutes(options),
  ];
}

const COLUMNS: CsvColumns<Suppression> = {
  address: ({ address }) => address,
  reason: ({ reason }) => reason,
  note: ({ note }) => note,
  email_id: ({ emailId }) => emailId,
  created_at: ({ createdAt }) => createdAt,
};

/** Streams suppressions as a CSV file, which `suppression import` reads; 503 while the list is incomplete. */
async function csv(options: DashboardOptions, context: PageContext): Promise<Response> {
  await whenCaughtUp(options.readModel("suppressions"));
  const day = utcDay(rfc3339(options.deps.clock.now()));
  return csvResponse(options.deps, context, `suppressions-${day}.csv`, {
    page: PATH,
    columns: COLUMNS,
    list: (asked) => findSuppressions(options, { ...queryOf(context), ...asked }),
  });
}

/** The list, or the one address that is looked up. `faults` are those of the form that adds one. */
async function listPage(
  options: DashboardOptions,
  context: PageContext,
  faults: Readonly<Record<string, string>>,
): Promise<Page> {
  const { workspaceId, query } = context;
  const address = query.get("address")?.trim() ?? "";
  const parsed = address === "" ? null : parseAddress(address);
  const fault = parsed !== null && "invalid" in parsed ? parsed.invalid : null;
  const lookedUp =
    parsed === null || "invalid" in parsed ? null : await readSuppression(options.deps, workspaceId, parsed);
  const page =
    parsed === null
      ? await pageOfSuppressions(options, { ...queryOf(context), ...pageAsked(context) })
      : { shown: lookedUp === null ? [] : [lookedUp], nextCursor: null };
  const filter = { reason: query.get("reason") ?? "", address, fault };
  return {
    title: "Suppressions",
    body: <SuppressionList context={context} page={page} filter={filter} faults={faults} />,
  };
}

function queryOf({ workspaceId, query }: PageContext): Omit<SuppressionQuery, "limit"> {
  const reason = SUPPRESSION_REASONS.find((one) => one === query.get("reason"));
  return { workspaceId, ...omitUndefined({ reason }) };
}

function removalRoutes({ deps, readModel }: DashboardOptions): readonly DashboardRoute[] {
  return asksFirst(
    `${PATH}/:address/remove`,
    "suppression:manage",
    async (context) => {
      const address = addressOf(context);
      return removal(address, found(await readSuppression(deps, context.workspaceId, address)));
    },
    async (context) => {
      const address = addressOf(context);
      const outcome = await removeSuppression(deps, address, context.commandContext());
      if (outcome === "notSuppressed") throw new Problem("NOT_FOUND");
      await catchUpIfInTime(readModel("suppressions"));
      return context.seeOther(PATH, `Mail to ${address.sent} is sent again.`);
    },
  );
}

function addressOf({ params }: PageContext): Address {
  const address = parseAddress(params.address ?? "");
  if ("invalid" in address) throw new Problem("NOT_FOUND");
  return address;
}

function removal({ sent }: Address, { reason }: Suppression): Confirmation {
  return {
    title: `Remove ${sent}`,
    question: `Send mail to ${sent} again?`,
    above: [{ path: PATH, title: "Suppressions" }],
    verb: "Remove",
    text: <p>{WHY[reason] ?? WHY.manual} Messages suppressed meanwhile are not sent later.</p>,
  };
}
