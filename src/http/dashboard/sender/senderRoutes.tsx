/** @jsxImportSource hono/jsx */

import { listSenders } from "../../../../projections/senders.ts";
import type { SenderView } from "../../../commands/sender/readSender.ts";
import { checkBy } from "../../body/validation.ts";
import { catchUpIfInTime, caughtUpRows } from "../../lists/caughtUpReads.ts";
import { pageOf } from "../../lists/cursorPaging.ts";
import { AddSenderBody, addedSender } from "../../sender/addSenderRequest.ts";
import {
  addOrRenameSender,
  existingSender,
  isSenderId,
  switchExistingSender,
} from "../../sender/senderChanges.ts";
import { senderJson } from "../../sender/senderResource.ts";
import { confirmationPage } from "../components/confirmationPage.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, post, type Visit } from "../frame/dashboardRoute.ts";
import { fieldOf } from "../frame/formBody.ts";
import { type FormFaults, formFaults } from "../frame/formFaults.ts";
import { afterCursor } from "../frame/listCursor.ts";
import { seeOther } from "../frame/notices.ts";
import { MailRecordsPage } from "./mailRecordsPage.tsx";
import { type AddSenderForm, nameOf, SenderList } from "./senderListPage.tsx";
import { SenderPage } from "./senderPage.tsx";

const PAGE_ITEMS = 50;
const PATH = "/senders";
const ONE = `${PATH}/:id`;
const SCOPE = "sender:manage";
const ABOVE = [{ path: PATH, title: "Senders" }];
const EMPTY_FORM: AddSenderForm = { name: "", displayName: "", faults: null };

const checkBody = checkBy(AddSenderBody);

/** The sender that the fields name, checked as the API checks a body. Throws what is wrong with it. */
function checkedSender(name: string, displayName: string | null | undefined) {
  const body = {
    ...(name.includes("@") ? { address: name } : { domain: name }),
    ...(displayName === undefined ? {} : { display_name: displayName }),
  };
  checkBody(body);
  return addedSender(body);
}

/** Listing, adding, verifying, naming and switching senders. */
export function senderRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  return [...listRoutes(options), ...verificationRoutes(options), ...switchRoutes(options)];
}

function listRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  const { deps } = options;
  const senders = options.readModel("senders");
  return [
    get(PATH, SCOPE, (visit) => listPage(options, visit, EMPTY_FORM)),
    post(PATH, SCOPE, async (visit) => {
      const name = fieldOf(visit.form, "name").trim();
      const displayName = fieldOf(visit.form, "display_name").trim();
      try {
        const sender = checkedSender(name, displayName === "" ? undefined : displayName);
        const added = await addOrRenameSender(
          { deps, senders },
          { ...sender, workspaceId: visit.workspaceId },
          visit.commandContext(),
        );
        await catchUpIfInTime(senders);
        const notice = {
          added: `${name} was added. Verify it to send from it.`,
          renamed: `${name} was there already: it has another display name now.`,
          alreadyAdded: `${name} was there already.`,
        }[added.outcome];
        return seeOther(visit.to(`${PATH}/${added.id}`), notice);
      } catch (error) {
        const faults = formFaults(error, (member) =>
          member === "address" || member === "domain" ? "name" : member,
        );
        const page = await listPage(options, visit, { name, displayName, faults });
        return { ...page, status: faults.status };
      }
    }),
    get(ONE, SCOPE, async (visit) => senderPage(options, visit, await senderOf(options, visit))),
    get(`${ONE}/records`, SCOPE, async (visit) =>
      mailRecordsPage(options, visit, await senderOf(options, visit)),
    ),
  ];
}

async function listPage(
  { deps, readModel }: DashboardOptions,
  visit: Visit,
  form: AddSenderForm,
): Promise<Page> {
  const { workspaceId } = visit;
  const senders = readModel("senders");
  const request = { limit: PAGE_ITEMS, ...afterCursor(visit, isSenderId) };
  const db = await caughtUpRows(senders);
  const { shown, nextCursor } = pageOf(request, (page) => listSenders(db, { workspaceId, ...page }));
  const views = await senders.scheduler.mapEach(shown, ({ id }) => existingSender(deps, workspaceId, id));
  return {
    title: "Senders",
    body: (
      <SenderList
        visit={visit}
        senders={views.map((view) => senderJson(deps, view))}
        nextCursor={nextCursor}
        form={form}
      />
    ),
  };
}

function senderOf({ deps }: DashboardOptions, { workspaceId, params }: Visit): Promise<SenderView> {
  return existingSender(deps, workspaceId, params.id ?? "");
}

/** What a refused form leaves on the page of its sender. */
interface Refused {
  readonly faults: FormFaults;
  readonly displayName: string | null;
}

function senderPage(
  { deps, senderVerification }: DashboardOptions,
  visit: Visit,
  view: SenderView,
  refused?: Refused,
): Page {
  const sender = senderJson(deps, view);
  return {
    title: nameOf(sender),
    above: ABOVE,
    ...(refused === undefined ? {} : { status: refused.faults.status }),
    body: (
      <SenderPage
        visit={visit}
        sender={sender}
        mail={view.sender.requests.at(-1)?.mail ?? null}
        mailsLinks={senderVerification.mailsLinks}
        faults={refused?.faults ?? null}
        displayName={refused?.displayName ?? null}
      />
    ),
  };
}

async function mailRecordsPage(
  { mailRecords }: DashboardOptions,
  { params }: Visit,
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
  const senders = options.readModel("senders");
  return [
    post(`${ONE}/verify`, SCOPE, async (visit) => {
      const view = await senderOf(options, visit);
      const { id, sender } = view;
      const isDomain = sender.kind === "domain";
      try {
        await options.senderVerification.verify(isDomain ? "dns" : "email", view, visit.commandContext());
      } catch (error) {
        return senderPage(options, visit, view, { faults: formFaults(error), displayName: null });
      }
      const { verifiedBy } = (await existingSender(deps, visit.workspaceId, id)).sender;
      const notice =
        verifiedBy === null ? `A link is on its way to ${sender.name}.` : `${sender.name} is verified.`;
      return seeOther(visit.to(`${PATH}/${id}`), notice);
    }),
    post(`${ONE}/display-name`, SCOPE, async (visit) => {
      const view = await senderOf(options, visit);
      const displayName = fieldOf(visit.form, "display_name").trim();
      try {
        const sender = checkedSender(view.sender.name, displayName === "" ? null : displayName);
        const wanted = { ...sender, workspaceId: visit.workspaceId };
        await addOrRenameSender({ deps, senders }, wanted, visit.commandContext());
      } catch (error) {
        return senderPage(options, visit, view, { faults: formFaults(error), displayName });
      }
      return seeOther(visit.to(`${PATH}/${view.id}`), "The display name was saved.");
    }),
  ];
}

function switchRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  const { deps } = options;
  const switched = async (visit: Visit, to: "disabled" | "enabled") => {
    const { id, sender } = await switchExistingSender(
      deps,
      visit.params.id ?? "",
      to,
      visit.commandContext(),
    );
    const notice = to === "disabled" ? "sends no more mail." : "is enabled.";
    return seeOther(visit.to(`${PATH}/${id}`), `${sender.name} ${notice}`);
  };
  return [
    get(`${ONE}/disable`, SCOPE, async (visit) => {
      const { id, sender } = await senderOf(options, visit);
      return confirmationPage(visit, {
        title: `Disable ${sender.name}`,
        above: [...ABOVE, { path: `${PATH}/${id}`, title: sender.name }],
        action: `${PATH}/${id}/disable`,
        verb: "Disable",
        isDangerous: true,
        text: (
          <p>
            New messages from it are refused, and what is queued waits until it is enabled again.
            {sender.kind === "address" ? " Its domain does not cover it meanwhile." : ""}
          </p>
        ),
      });
    }),
    post(`${ONE}/disable`, SCOPE, (visit) => switched(visit, "disabled")),
    post(`${ONE}/enable`, SCOPE, (visit) => switched(visit, "enabled")),
  ];
}
