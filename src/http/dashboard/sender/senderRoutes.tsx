/** @jsxImportSource hono/jsx */
import type { SenderView } from "../../../commands/sender/readSender.ts";
import { checkBy } from "../../body/validation.ts";
import { catchUpIfInTime } from "../../lists/caughtUpReads.ts";
import { AddSenderBody, addedSender } from "../../sender/addSenderRequest.ts";
import {
  addOrRenameSender,
  existingSender,
  pageOfSenders,
  switchedSender,
} from "../../sender/senderHandlers.ts";
import { senderJson } from "../../sender/senderResource.ts";
import { asksFirst, type Confirmation } from "../components/confirmationPage.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { fieldOf } from "../frame/formBody.ts";
import { type FormFaults, formFaults } from "../frame/formFaults.ts";
import { pageAsked } from "../frame/listPaging.ts";
import { MailRecordsPage } from "./mailDnsRecordsPage.tsx";
import { nameOf, SenderList } from "./senderListPage.tsx";
import { SenderPage } from "./senderPage.tsx";

const PATH = "/senders";
const ONE = `${PATH}/:id`;
const SCOPE = "sender:manage";
const ABOVE = [{ path: PATH, title: "Senders" }];

const checkBody = checkBy(AddSenderBody);

/** The sender in the fields, checked as the API checks a body. Throws what is wrong with it. */
function checkedSender(name: string, displayName: string | null | undefined) {
  const body = {
    ...(name.includes("@") ? { address: name } : { domain: name }),
    ...(displayName === undefined ? {} : { display_name: displayName }),
  };
  checkBody(body);
  return addedSender(body);
}

/** Listing, adding, verifying, renaming, disabling and enabling senders. */
export function senderRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  return [...listRoutes(options), ...verificationRoutes(options), ...switchRoutes(options)];
}

function listRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  return [
    get(PATH, SCOPE, (context) => listPage(options, context, null)),
    post(PATH, SCOPE, async (context) => {
      const name = fieldOf(context.form, "name");
      const displayName = fieldOf(context.form, "display_name");
      try {
        const sender = checkedSender(name, displayName === "" ? undefined : displayName);
        const added = await addOrRenameSender(
          options,
          { ...sender, workspaceId: context.workspaceId },
          context.commandContext(),
        );
        await catchUpIfInTime(options.readModel("senders"));
        const notice = {
          added: `${name} was added. Verify it to send from it.`,
          renamed: `${name} already exists: its display name was changed.`,
          alreadyAdded: `${name} already exists.`,
        }[added.outcome];
        return context.seeOther(`${PATH}/${added.id}`, notice);
      } catch (error) {
        const faults = formFaults(error, (member) =>
          member === "address" || member === "domain" ? "name" : member,
        );
        return listPage(options, context, faults);
      }
    }),
    get(ONE, SCOPE, async (context) => senderPage(options, context, await senderOf(options, context), null)),
    get(`${ONE}/records`, SCOPE, async (context) =>
      mailDnsRecordsPage(options, context, await senderOf(options, context)),
    ),
  ];
}

async function listPage(
  options: DashboardOptions,
  context: PageContext,
  faults: FormFaults | null,
): Promise<Page> {
  const request = pageAsked(context);
  const { shown, nextCursor } = await pageOfSenders(options, context.workspaceId, request);
  const page = { shown: shown.map((view) => senderJson(options.deps, view)), nextCursor };
  return {
    title: "Senders",
    status: faults?.status,
    body: <SenderList context={context} page={page} faults={faults} />,
  };
}

function senderOf({ deps }: DashboardOptions, { workspaceId, params }: PageContext): Promise<SenderView> {
  return existingSender(deps, workspaceId, params.id ?? "");
}

function senderPage(
  { deps, senderVerification }: DashboardOptions,
  context: PageContext,
  view: SenderView,
  faults: FormFaults | null,
): Page {
  const sender = senderJson(deps, view);
  return {
    title: nameOf(sender),
    above: ABOVE,
    status: faults?.status,
    body: (
      <SenderPage
        context={context}
        sender={sender}
        mail={view.sender.requests.at(-1)?.mail ?? null}
        mailsLinks={senderVerification.mailsLinks}
        faults={faults}
      />
    ),
  };
}

async function mailDnsRecordsPage(
  { mailRecords }: DashboardOptions,
  { params }: PageContext,
  { sender: { name } }: SenderView,
): Promise<Page> {
  const domain = name.slice(name.lastIndexOf("@") + 1);
  return {
    title: `Mail records of ${domain}`,
    above: [...ABOVE, { path: `${PATH}/${params.id}`, title: name }],
    body: <MailRecordsPage domain={domain} findings={await mailRecords(domain)} />,
  };
}

function verificationRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  const { deps } = options;
  return [
    post(`${ONE}/verify`, SCOPE, async (context) => {
      const view = await senderOf(options, context);
      const { id, sender } = view;
      const isDomain = sender.kind === "domain";
      try {
        await options.senderVerification.verify(isDomain ? "dns" : "email", view, context.commandContext());
      } catch (error) {
        return senderPage(options, context, view, formFaults(error));
      }
      const { verifiedBy } = (await existingSender(deps, context.workspaceId, id)).sender;
      const notice =
        verifiedBy === null ? `A link is on its way to ${sender.name}.` : `${sender.name} is verified.`;
      return context.seeOther(`${PATH}/${id}`, notice);
    }),
    post(`${ONE}/display-name`, SCOPE, async (context) => {
      const view = await senderOf(options, context);
      const displayName = fieldOf(context.form, "display_name");
      try {
        const sender = checkedSender(view.sender.name, displayName === "" ? null : displayName);
        const wanted = { ...sender, workspaceId: context.workspaceId };
        await addOrRenameSender(options, wanted, context.commandContext());
      } catch (error) {
        return senderPage(options, context, view, formFaults(error));
      }
      return context.seeOther(`${PATH}/${view.id}`, "The display name was saved.");
    }),
  ];
}

function switchRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  const { deps } = options;
  const switched = async (context: PageContext, to: "disabled" | "enabled") => {
    const { id, sender } = await switchedSender(deps, context.params.id ?? "", to, context.commandContext());
    const notice = to === "disabled" ? "sends no more mail." : "is enabled.";
    return context.seeOther(`${PATH}/${id}`, `${sender.name} ${notice}`);
  };
  return [
    ...asksFirst(
      `${ONE}/disable`,
      SCOPE,
      async (context) => disabling(await senderOf(options, context)),
      (context) => switched(context, "disabled"),
    ),
    post(`${ONE}/enable`, SCOPE, (context) => switched(context, "enabled")),
  ];
}

function disabling({ id, sender: { name, kind } }: SenderView): Confirmation {
  return {
    title: `Disable ${name}`,
    above: [...ABOVE, { path: `${PATH}/${id}`, title: name }],
    verb: "Disable",
    isDangerous: true,
    text: (
      <p>
        New messages from it are refused, and what is queued waits until it is enabled again.
        {kind === "address" ? " Its domain does not cover it meanwhile." : ""}
      </p>
    ),
  };
}
