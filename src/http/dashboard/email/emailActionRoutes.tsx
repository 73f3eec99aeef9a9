/** @jsxImportSource hono/jsx */
import { bringForward } from "../../../commands/email/bringForward.ts";
import { cancelEmail } from "../../../commands/email/cancelEmail.ts";
import type { EmailView } from "../../../commands/email/readEmail.ts";
import { eraseEmail } from "../../../commands/erasure/eraseEmailContent.ts";
import { isWaiting } from "../../../domain/email/state.ts";
import { parseAddress } from "../../../kernel/text/emailAddress.ts";
import { mayReadContent } from "../../email/redactEmail.ts";
import { requireSameRecipient, sendAgain } from "../../email/sendAgain.ts";
import { requireSenderOf } from "../../server/authorization.ts";
import { found, Problem } from "../../server/problem.ts";
import { asksFirst, type Confirmation, confirmationPage } from "../components/confirmationPage.tsx";
import { Field } from "../components/form.tsx";
import { Time } from "../components/time.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { fieldOf } from "../frame/formBody.ts";
import { nonceOf } from "../newEmail/sendFromForm.ts";
import { recipientSuppression } from "../suppression/recipientSuppression.ts";
import { aboveMessage, messageOf } from "./emailRoutes.tsx";
import { refusalText, whyNotAgain } from "./refusalText.ts";

type Options = Pick<DashboardOptions, "deps">;

/** Actions on one message. Those that cannot be undone ask once. */
export function emailActionRoutes(options: Options): readonly DashboardRoute[] {
  const about =
    (question: (context: PageContext, view: EmailView) => Confirmation) => async (context: PageContext) =>
      question(context, await reachable(options, context));
  return [
    get("/messages/:id/send-again", "email:send", async (context) =>
      askSendAgain(options, context, await reachable(options, context), {}),
    ),
    post("/messages/:id/send-again", "email:send", (context) => doSendAgain(options, context)),
    ...asksFirst("/messages/:id/cancel", "email:send", about(cancellation), (context) =>
      doCancel(options, context),
    ),
    ...asksFirst("/messages/:id/erase", "email:send", about(erasure), (context) => doErase(options, context)),
    post("/messages/:id/try-now", "email:send", (context) => doTryNow(options, context)),
  ];
}

/** A message that the key may act on: a key bound to senders only reaches their messages. */
export async function reachable(options: Options, context: PageContext): Promise<EmailView> {
  const view = await messageOf(options, context);
  await requireSenderOf(options.deps, context.principal, view);
  return view;
}

interface SendAgainAnswers {
  readonly to?: string;
  readonly nonce?: string;
  readonly toFault?: string;
  readonly fault?: string;
}

async function askSendAgain(
  { deps }: Options,
  context: PageContext,
  view: EmailView,
  { to, nonce, toFault, fault }: SendAgainAnswers,
): Promise<Page> {
  const missing = whyNotAgain(view);
  if (view.content === null || missing !== null)
    throw new Problem("NOT_FOUND", { detail: `the message cannot be sent again: ${missing}` });
  const status = toFault === undefined && fault === undefined ? 200 : 422;
  const suppression = await recipientSuppression(deps, context, view);
  const page = confirmationPage(context, {
    title: "Send again",
    question: "Send this message again?",
    above: aboveMessage(context, view),
    verb: "Send again",
    text: (
      <>
        <p>
          Its content goes out as a new message with its own timeline, whose Idempotency-Key names this one. A
          recipient who already has it gets it again.
        </p>
        {view.email.deliverBefore === null ? null : (
          <p>
            This one was to be delivered before <Time at={view.email.deliverBefore} />. The new message has no
            such time.
          </p>
        )}
        {suppression === null ? null : (
          <p>
            Mail to {view.content.to} is suppressed since <Time at={suppression.createdAt} />: to that address
            it is accepted, and not delivered.
          </p>
        )}
        {fault === undefined ? null : (
          <p class="fault" role="alert">
            {fault}
          </p>
        )}
        {mayReadContent(context.principal) ? (
          <Field
            name="to"
            label="Recipient"
            type="email"
            value={to ?? view.content.to}
            fault={toFault}
            isRequired
            maxLength={320}
          />
        ) : (
          <>
            <p>
              It goes to {view.content.to} again. Sending it to another recipient needs the scope{" "}
              <code>email:read</code>.
            </p>
            <input type="hidden" name="to" value={view.content.to} />
          </>
        )}
        <input type="hidden" name="nonce" value={nonce ?? crypto.randomUUID()} />
      </>
    ),
  });
  return { ...page, status };
}

async function doSendAgain({ deps }: Options, context: PageContext): Promise<Page | Response> {
  const view = await reachable({ deps }, context);
  const to = fieldOf(context.form, "to");
  const nonce = nonceOf(context);
  requireSameRecipient(context.principal, view, to);
  const parsed = parseAddress(to);
  if ("invalid" in parsed)
    return askSendAgain({ deps }, context, view, { to, nonce, toFault: `It ${parsed.invalid}.` });
  const outcome = await sendAgain(deps, { view, to, key: nonce }, context);
  if (outcome.kind !== "accepted") {
    // Use another nonce if this one was used for another recipient.
    const fresh = outcome.kind === "conflict" ? {} : { nonce };
    return askSendAgain({ deps }, context, view, { to, ...fresh, fault: refusalText(outcome) });
  }
  const { id } = outcome.receipt;
  return context.seeOther(`/messages/${id}`, "This is the new message: the content was sent again.");
}

function cancellation(context: PageContext, view: EmailView): Confirmation {
  return {
    title: "Cancel",
    question: "Cancel this message?",
    above: aboveMessage(context, view),
    verb: "Cancel the message",
    isDangerous: true,
    text: <p>It is not sent, and cannot be un-canceled; its content can be sent again as a new message.</p>,
  };
}

const CANCEL_NOTICES = {
  canceled: "The message was canceled.",
  alreadyCanceled: "The message was canceled.",
  notCancelable: "It could not be canceled: a worker has taken it, or it has ended.",
  deliveryUnknown:
    "It could not be canceled: the relay may have it. Erasing its content stops further attempts.",
} as const;

async function doCancel({ deps }: Options, context: PageContext): Promise<Response> {
  const { id } = await reachable({ deps }, context);
  const outcome = found(await cancelEmail(deps, id, context.commandContext()));
  return context.seeOther(`/messages/${id}`, CANCEL_NOTICES[outcome]);
}

function erasure(context: PageContext, view: EmailView): Confirmation {
  const { status, ambiguous } = view.email;
  const soFar = ambiguous ? "The relay may have it" : "It has not been sent yet";
  return {
    title: "Erase content",
    question: "Erase the content of this message?",
    above: aboveMessage(context, view),
    verb: "Erase for good",
    isDangerous: true,
    text: (
      <p>
        Addresses, subject, bodies, variables, metadata, files and the relay's words are gone for good, here
        and in every read model. What stays is that a message was accepted and what became of it.
        {isWaiting(status) ? ` ${soFar}: it is canceled, so no further attempt is made.` : ""} Backups made
        before still hold it.
      </p>
    ),
  };
}

async function doErase({ deps }: Options, context: PageContext): Promise<Response> {
  const { id } = await reachable({ deps }, context);
  const outcome = found(await eraseEmail(deps, id, { reason: "requested" }, context.commandContext()));
  const notice =
    outcome === "afterClaim"
      ? "A worker is delivering the message: its content is erased when the attempt has ended."
      : "The content was erased.";
  return context.seeOther(`/messages/${id}`, notice);
}

async function doTryNow({ deps }: Options, context: PageContext): Promise<Response> {
  const view = await reachable({ deps }, context);
  const { id } = view;
  const isDue = await bringForward(deps, view, context.commandContext());
  const notice = isDue ? "It is due now and goes next." : "It is no longer waiting for a time.";
  return context.seeOther(`/messages/${id}`, notice);
}
