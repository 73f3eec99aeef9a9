/** @jsxImportSource hono/jsx */
import { cancelEmail } from "../../../commands/email/cancelOrReschedule.ts";
import { resumeEmail } from "../../../commands/email/mailAttempts.ts";
import type { EmailView } from "../../../commands/email/readEmail.ts";
import { eraseEmail } from "../../../commands/erasure/eraseEmailContent.ts";
import { isWaiting } from "../../../domain/email/state.ts";
import { isUuid } from "../../../kernel/ids.ts";
import { parseAddress } from "../../../kernel/text/emailAddress.ts";
import { requireSender } from "../../server/authorization.ts";
import { Problem } from "../../server/problem.ts";
import { confirmationPage } from "../components/confirmationPage.tsx";
import { Field } from "../components/form.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, post, type Visit } from "../frame/dashboardRoute.ts";
import { seeOther } from "../frame/notices.ts";
import { messageOf } from "./messageRoutes.tsx";
import { sendAgain } from "./sendAgain.ts";
import { refusalText } from "./sendAgainRefusal.ts";

type Options = Pick<DashboardOptions, "deps">;

/** What can be done with one message. What cannot be undone asks once. */
export function messageActionRoutes(options: Options): readonly DashboardRoute[] {
  const ask = (path: string, page: (visit: Visit, view: EmailView) => Page): DashboardRoute =>
    get(path, "email:send", async (visit) => page(visit, await reachable(options, visit)));
  return [
    ask("/messages/:id/send-again", (visit, view) => askSendAgain(visit, view, {})),
    post("/messages/:id/send-again", "email:send", (visit) => doSendAgain(options, visit)),
    ask("/messages/:id/cancel", askCancel),
    post("/messages/:id/cancel", "email:send", (visit) => doCancel(options, visit)),
    ask("/messages/:id/erase", askErase),
    post("/messages/:id/erase", "email:send", (visit) => doErase(options, visit)),
    post("/messages/:id/try-now", "email:send", (visit) => doTryNow(options, visit)),
  ];
}

/** A message that the key may act on: one that is bound to senders reaches their messages alone. */
export async function reachable(options: Options, visit: Visit): Promise<EmailView> {
  const view = await messageOf(options, visit);
  requireSender(visit.principal, view.content?.from ?? null);
  return view;
}

/** The breadcrumbs of a page about what can be done with a message. */
export function aboveAction(view: EmailView) {
  return [
    { path: "/messages", title: "Messages" },
    { path: `/messages/${view.id}`, title: view.content?.subject || "Message" },
  ];
}

interface SendAgainAnswers {
  readonly to?: string;
  readonly nonce?: string;
  readonly toFault?: string;
  readonly fault?: string;
}

function askSendAgain(visit: Visit, view: EmailView, { to, nonce, toFault, fault }: SendAgainAnswers): Page {
  if (view.content === null)
    throw new Problem("NOT_FOUND", { detail: "the content of the message was erased" });
  const status = toFault === undefined && fault === undefined ? 200 : 422;
  const page = confirmationPage(visit, {
    title: "Send again",
    question: "Send this message again?",
    above: aboveAction(view),
    action: `/messages/${view.id}/send-again`,
    verb: "Send again",
    text: (
      <>
        <p>
          Its content goes out as a new message with its own timeline, whose Idempotency-Key names this one.
          Whoever has got it already gets it again.
        </p>
        {fault === undefined ? null : (
          <p class="fault" role="alert">
            {fault}
          </p>
        )}
        <Field
          name="to"
          label="Recipient"
          type="email"
          value={to ?? view.content.to}
          fault={toFault}
          isRequired
          maxLength={320}
        />
        <input type="hidden" name="nonce" value={nonce ?? crypto.randomUUID()} />
      </>
    ),
  });
  return { ...page, status };
}

async function doSendAgain({ deps }: Options, visit: Visit): Promise<Page | Response> {
  const view = await reachable({ deps }, visit);
  const to = (visit.form.get("to") ?? "").trim();
  const nonce = visit.form.get("nonce") ?? "";
  if (!isUuid(nonce))
    throw new Problem("INVALID_REQUEST", { detail: "the form is not whole: load the page again" });
  const parsed = parseAddress(to);
  if ("invalid" in parsed) return askSendAgain(visit, view, { to, nonce, toFault: `It ${parsed.invalid}.` });
  const outcome = await sendAgain(deps, { view, to, nonce }, visit);
  if (outcome.kind !== "accepted") {
    // Another nonce where this one was used for another recipient.
    const fresh = outcome.kind === "conflict" ? {} : { nonce };
    return askSendAgain(visit, view, { to, ...fresh, fault: refusalText(outcome) });
  }
  const { id } = outcome.receipt;
  return seeOther(visit.to(`/messages/${id}`), "This is the new message: the content was sent again.");
}

function askCancel(visit: Visit, view: EmailView): Page {
  return confirmationPage(visit, {
    title: "Cancel",
    question: "Cancel this message?",
    above: aboveAction(view),
    action: `/messages/${view.id}/cancel`,
    verb: "Cancel the message",
    isDangerous: true,
    text: <p>It is not sent, and cannot be un-canceled; its content can be sent again as a new message.</p>,
  });
}

async function doCancel({ deps }: Options, visit: Visit): Promise<Response> {
  const { id } = await reachable({ deps }, visit);
  const outcome = await cancelEmail(deps, id, visit.commandContext());
  if (outcome === "notFound") throw new Problem("NOT_FOUND");
  const notice =
    outcome === "notCancelable"
      ? "It could not be canceled: a worker has it, or it has ended."
      : "The message was canceled.";
  return seeOther(visit.to(`/messages/${id}`), notice);
}

function askErase(visit: Visit, view: EmailView): Page {
  const willBeCanceled = isWaiting(view.email.status);
  return confirmationPage(visit, {
    title: "Erase content",
    question: "Erase the content of this message?",
    above: aboveAction(view),
    action: `/messages/${view.id}/erase`,
    verb: "Erase for good",
    isDangerous: true,
    text: (
      <p>
        Addresses, subject, bodies, variables, metadata, files and the relay's words are gone for good, here
        and in every read model. What stays is that a message was accepted and what became of it.
        {willBeCanceled ? " It has not been sent yet: it is canceled for that." : ""} Backups made before
        still hold it.
      </p>
    ),
  });
}

async function doErase({ deps }: Options, visit: Visit): Promise<Response> {
  const { id } = await reachable({ deps }, visit);
  const outcome = await eraseEmail(deps, id, { reason: "requested" }, visit.commandContext());
  if (outcome === "notFound") throw new Problem("NOT_FOUND");
  const notice =
    outcome === "afterClaim"
      ? "A worker is at the message: its content is erased when the attempt has ended."
      : "The content was erased.";
  return seeOther(visit.to(`/messages/${id}`), notice);
}

async function doTryNow({ deps }: Options, visit: Visit): Promise<Response> {
  const { id } = await reachable({ deps }, visit);
  const { outcome } = await resumeEmail(deps.store, id, visit.commandContext());
  const notice =
    outcome === "resumed" ? "It is due now and goes next." : "It does not wait for a time any more.";
  return seeOther(visit.to(`/messages/${id}`), notice);
}
