import type { Dependencies } from "../../../commands/dependencies.ts";
import { sendEmail } from "../../../commands/email/send/sendEmail.ts";
import type { SendOutcome } from "../../../commands/email/send/sendOutcome.ts";
import type { SenderFault } from "../../../domain/sender/state.ts";
import { isUuid, newId } from "../../../kernel/ids.ts";
import { checkBy } from "../../body/validation.ts";
import { sendRequest } from "../../email/sendEmailRequest.ts";
import { SendEmailBody } from "../../email/sendEmailSchema.ts";
import { sendProblem } from "../../email/sendProblem.ts";
import { requireSender } from "../../server/authorization.ts";
import { Problem } from "../../server/problem.ts";
import type { Page, PageContext } from "../frame/dashboardRoute.ts";
import { type FormFaults, formFaults } from "../frame/formFaults.ts";

const checkSend = checkBy(SendEmailBody);

type Accepted = Extract<SendOutcome, { kind: "accepted" }>;

export interface SendFormState {
  readonly nonce: string;
  /** Null before it is submitted. */
  readonly faults: FormFaults | null;
  /** Why its sender cannot send, if that is what is wrong. */
  readonly senderFault?: SenderFault;
}

interface FormSend {
  /** As for the API. Throws a `Problem` if the form describes none. */
  readonly body: () => unknown | Promise<unknown>;
  /** With the form's nonce this is the Idempotency-Key: the same form submitted twice sends one message. */
  readonly keyPrefix: string;
  /** What the form lacks, if the API would not say it in the form's words. */
  readonly missing?: FormFaults | null;
  /** As for `formFaults`. */
  readonly fieldOf?: Parameters<typeof formFaults>[1];
  /** Where it leads if the key may not read the accepted message. */
  readonly otherwiseTo: string;
  /** Shows the form again. */
  readonly again: (state: SendFormState) => Promise<Page>;
}

/** The form's nonce. Throws a `Problem` if there is none. */
export function nonceOf({ form }: PageContext): string {
  const nonce = form.get("nonce") ?? "";
  if (!isUuid(nonce))
    throw new Problem("INVALID_REQUEST", { detail: "the form is incomplete: reload the page" });
  return nonce;
}

/** Sends a message with every check of the API. Leads to the message, or shows the form again with its faults. */
export async function sendFromForm(
  deps: Dependencies,
  context: PageContext,
  { body, keyPrefix, missing, fieldOf, otherwiseTo, again }: FormSend,
): Promise<Page | Response> {
  // Checked first: the answer shows the form as one of the session's kind, live or test.
  if (context.form.get("mail") !== context.mail) return again(refilled(switchedText(context)));
  const nonce = nonceOf(context);
  if (missing) return again({ nonce, faults: missing });
  try {
    const outcome = await send(deps, context, await body(), keyPrefix + nonce);
    if (outcome.kind === "refused" && outcome.senderFault !== undefined) {
      const { senderFault } = outcome;
      return again({ nonce, faults: { status: 422, fields: {}, whole: null }, senderFault });
    }
    if (outcome.kind === "refused") throw sendProblem(outcome, deps.clock.now());
    if (outcome.kind === "accepted") return toAcceptedMessage(context, outcome, otherwiseTo);
  } catch (error) {
    return again({ nonce, faults: formFaults(error, fieldOf) });
  }
  return again(refilled("this form has sent another message before: submit it again to send this one too"));
}

/** A form that is sent as a new one next time. */
function refilled(detail: string): SendFormState {
  return { nonce: newId(), faults: formFaults(new Problem("IDEMPOTENCY_CONFLICT", { detail })) };
}

/** Why a form is refused that was opened while the session showed the other kind of mail. */
function switchedText({ mail }: PageContext): string {
  return mail === "live"
    ? "you now see live mail: submit it again to send it live"
    : "you now see test mail: submit it again to send it as test mail";
}

/** Redirects to the accepted message; to `otherwiseTo`, with the message's id, if the key may not read it. */
function toAcceptedMessage(context: PageContext, outcome: Accepted, otherwiseTo: string): Response {
  const { id } = outcome.receipt;
  const notice = outcome.replayed ? "This form had sent this message already." : "The message was accepted.";
  return context.may("email:status")
    ? context.seeOther(`/messages/${id}`, notice)
    : context.seeOther(otherwiseTo, `${notice} Its id is ${id}.`);
}

function send(deps: Dependencies, context: PageContext, body: unknown, idempotencyKey: string) {
  checkSend(body);
  const validated = sendRequest(body as SendEmailBody);
  requireSender(context.principal, validated.from.sent);
  const commandContext = context.commandContext();
  const { workspaceId } = commandContext;
  return sendEmail(deps, { ...validated, workspaceId, idempotencyKey, context: commandContext });
}
