import type { Dependencies } from "../../../commands/dependencies.ts";
import { sendEmail } from "../../../commands/email/send/sendEmail.ts";
import { isUuid, newId } from "../../../kernel/ids.ts";
import { checkBy } from "../../body/validation.ts";
import { SendEmailBody, sendRequest } from "../../email/sendEmailRequest.ts";
import { sendProblem } from "../../email/sendProblem.ts";
import { requireSender } from "../../server/authorization.ts";
import { Problem } from "../../server/problem.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";

const checkSend = checkBy(SendEmailBody);

/** A form that sends a message. */
interface FormSend {
  /** As for the API. */
  readonly body: unknown;
  /** With the form's nonce this is the Idempotency-Key: the same form submitted twice sends one message. */
  readonly keyPrefix: string;
}

/** The form's nonce. Throws a `Problem` if there is none. */
export function nonceOf({ form }: PageContext): string {
  const nonce = form.get("nonce") ?? "";
  if (!isUuid(nonce))
    throw new Problem("INVALID_REQUEST", { detail: "the form is incomplete: reload the page" });
  return nonce;
}

/** Why a form was refused, and the nonce for its next try. */
interface RefusedForm {
  readonly kind: "refused";
  readonly problem: Problem;
  readonly nonce: string;
}

interface AcceptedForm {
  readonly kind: "accepted";
  readonly id: string;
  /** The same form had sent the message before. */
  readonly isReplay: boolean;
}

type FormSendOutcome = AcceptedForm | RefusedForm;

/** Redirects to the accepted message; to `otherwiseTo`, with the message's id, if the key may not read it. */
export function toAcceptedMessage(context: PageContext, { id, isReplay }: AcceptedForm, otherwiseTo: string) {
  const notice = isReplay ? "This form had sent this message already." : "The message was accepted.";
  return context.may("email:read")
    ? context.seeOther(`/messages/${id}`, notice)
    : context.seeOther(otherwiseTo, `${notice} Its id is ${id}.`);
}

/**
 * The refusal of a form that was opened while the session showed the other kind of mail, live or test; else null. Check
 * it first: the answer shows the form as one of the session's kind.
 */
export function mailSwitchRefusal({ form, mail }: PageContext): RefusedForm | null {
  if (form.get("mail") === mail) return null;
  const detail =
    mail === "live"
      ? "you now see live mail: submit it again to send it live"
      : "you now see test mail: submit it again to send it as test mail";
  return { kind: "refused", problem: new Problem("IDEMPOTENCY_CONFLICT", { detail }), nonce: newId() };
}

/** Sends a message with every check of the API. */
export async function sendFromForm(
  deps: Dependencies,
  context: PageContext,
  form: FormSend,
): Promise<FormSendOutcome> {
  const nonce = nonceOf(context);
  try {
    const outcome = await send(deps, context, form.body, form.keyPrefix + nonce);
    if (outcome.kind === "accepted")
      return { kind: "accepted", id: outcome.receipt.id, isReplay: outcome.replayed };
    if (outcome.kind === "refused")
      return { kind: "refused", problem: sendProblem(outcome, deps.clock.now()), nonce };
    const detail = "this form has sent another message before: submit it again to send this one too";
    return { kind: "refused", problem: new Problem("IDEMPOTENCY_CONFLICT", { detail }), nonce: newId() };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { kind: "refused", problem: error, nonce };
  }
}

function send(deps: Dependencies, context: PageContext, body: unknown, idempotencyKey: string) {
  checkSend(body);
  const validated = sendRequest(body as SendEmailBody);
  requireSender(context.principal, validated.from.sent);
  const commandContext = context.commandContext();
  const { workspaceId } = commandContext;
  return sendEmail(deps, { ...validated, workspaceId, idempotencyKey, context: commandContext });
}
