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
import { catchUpIfInTime } from "../../lists/caughtUpReads.ts";
import type { Page as RowPage } from "../../lists/cursorPaging.ts";
import { found, Problem } from "../../server/problem.ts";
import { pageOfSuppressions } from "../../suppression/suppressionsController.ts";
import { confirmationPage } from "../components/confirmationPage.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { fieldOf } from "../frame/formBody.ts";
import { pageAsked } from "../frame/listCursor.ts";
import { suppressionCsv } from "./suppressionCsv.ts";
import { EMPTY_FORM, type SuppressionForm, SuppressionList } from "./suppressionPage.tsx";

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
  const { deps } = options;
  const suppressions = options.readModel("suppressions");

  async function listPage(context: PageContext, form: SuppressionForm): Promise<Page> {
    const page = await suppressionsAsked(options, context);
    const address = context.query.get("address")?.trim() ?? "";
    const parsed = address === "" ? null : parseAddress(address);
    const fault = parsed !== null && "invalid" in parsed ? parsed.invalid : null;
    const reason = context.query.get("reason") ?? "";
    return {
      title: "Suppressions",
      body: <SuppressionList context={context} page={page} filter={{ reason, address, fault }} form={form} />,
    };
  }

  return [
    get(PATH, "suppression:manage", (context) => listPage(context, EMPTY_FORM)),
    get(`${PATH}.csv`, "suppression:manage", (context) => suppressionCsv(options, context, queryOf(context))),
    post(PATH, "suppression:manage", async (context) => {
      const form = checkedForm(context.form);
      if (!("parsed" in form)) return { ...(await listPage(context, form)), status: 422 };
      const { parsed, note } = form;
      const wanted = { address: parsed, note: note === "" ? null : note };
      const { isNew } = await addSuppression(deps, wanted, context.commandContext());
      await catchUpIfInTime(suppressions);
      const said = isNew ? "gets no more mail." : "was suppressed before: nothing has changed.";
      return context.seeOther(PATH, `${parsed.sent} ${said}`);
    }),
    ...removalRoutes(options),
  ];
}

/** The suppressions that a query asks for: one address, or a page of the list. */
async function suppressionsAsked(
  options: DashboardOptions,
  context: PageContext,
): Promise<RowPage<Suppression>> {
  const { workspaceId, query } = context;
  const wanted = query.get("address")?.trim() ?? "";
  if (wanted !== "") {
    const address = parseAddress(wanted);
    const one = "invalid" in address ? null : await readSuppression(options.deps, workspaceId, address);
    return { shown: one === null ? [] : [one], nextCursor: null };
  }
  return pageOfSuppressions(options, { ...queryOf(context), ...pageAsked(context) });
}

function queryOf({ workspaceId, query }: PageContext): Omit<SuppressionQuery, "limit"> {
  const reason = SUPPRESSION_REASONS.find((one) => one === query.get("reason"));
  return { workspaceId, ...omitUndefined({ reason }) };
}

function removalRoutes({ deps, readModel }: DashboardOptions): readonly DashboardRoute[] {
  return [
    get(`${PATH}/:address/remove`, "suppression:manage", async (context) => {
      const address = addressOf(context);
      const suppression = found(await readSuppression(deps, context.workspaceId, address));
      return removalPage(context, address, suppression);
    }),
    post(`${PATH}/:address/remove`, "suppression:manage", async (context) => {
      const address = addressOf(context);
      const outcome = await removeSuppression(deps, address, context.commandContext());
      if (outcome === "notSuppressed") throw new Problem("NOT_FOUND");
      await catchUpIfInTime(readModel("suppressions"));
      return context.seeOther(PATH, `Mail to ${address.sent} is sent again.`);
    }),
  ];
}

function addressOf({ params }: PageContext): Address {
  const address = parseAddress(params.address ?? "");
  if ("invalid" in address) throw new Problem("NOT_FOUND");
  return address;
}

function removalPage(context: PageContext, { sent }: Address, { reason }: Suppression): Page {
  return confirmationPage(context, {
    title: `Remove ${sent}`,
    question: `Send mail to ${sent} again?`,
    above: [{ path: PATH, title: "Suppressions" }],
    verb: "Remove",
    text: <p>{WHY[reason] ?? WHY.manual} Messages suppressed meanwhile are not sent later.</p>,
  });
}

/** The form with its faults, or with the parsed address. */
function checkedForm(fields: URLSearchParams): SuppressionForm | (SuppressionForm & { parsed: Address }) {
  const address = fieldOf(fields, "address").trim();
  const note = fieldOf(fields, "note").trim();
  const parsed = parseAddress(address);
  const isLong = codePoints(note) > NOTE_CHARACTERS_MAX;
  const faults = {
    ...("invalid" in parsed ? { address: `The address ${parsed.invalid}.` } : {}),
    ...(isLong ? { note: `The note must have at most ${NOTE_CHARACTERS_MAX} characters.` } : {}),
  };
  return "invalid" in parsed || isLong ? { address, note, faults } : { address, note, faults, parsed };
}
