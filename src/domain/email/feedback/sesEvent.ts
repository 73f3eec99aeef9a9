import { isUuid } from "../../../kernel/ids.ts";
import { isObject } from "../../../kernel/text/json.ts";
import { emailIdOfMessageId } from "../messageId.ts";
import { bounceReason } from "./bounceReason.ts";
import { asPermanent, asTransient, diagnosticOf, type ProviderFeedback, textOf } from "./providerFeedback.ts";

/** The message tag that carries our id. Tag names consist of letters, digits, hyphens and underscores. */
export const SES_TAG = "postledger_id";

type Json = Readonly<Record<string, unknown>>;

function objectOf(value: unknown): Json {
  return isObject(value) ? value : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/**
 * Our id: from the tag, which SES returns unchanged, and from our header field and the Message-ID if the event includes
 * them. If they name different messages, somebody has set one of them, and we believe none.
 */
function emailIdOf(mail: Json): string | null {
  const fields = listOf(mail.headers).map(objectOf);
  const field = fields.find(({ name }) => textOf(name).toLowerCase() === "x-postledger-id");
  const messageId = textOf(objectOf(mail.commonHeaders).messageId);
  const named = [
    ...listOf(objectOf(mail.tags)[SES_TAG]).map(textOf),
    textOf(field?.value),
    emailIdOfMessageId(messageId) ?? "",
  ];
  const [id = null, ...others] = new Set(named.filter(isUuid).map((one) => one.toLowerCase()));
  return others.length === 0 ? id : null;
}

/** SES has suppressed the address itself and did not try to deliver, so this says nothing new about the address. */
const NOT_TRIED = new Set(["Suppressed", "OnAccountSuppressionList"]);

function bounceOf(bounce: Json): ProviderFeedback["report"] {
  const { bounceType, bounceSubType } = bounce;
  const recipient = objectOf(listOf(bounce.bouncedRecipients)[0]);
  const status = textOf(recipient.status);
  const diagnostic = diagnosticOf(recipient.diagnosticCode);
  if (NOT_TRIED.has(textOf(bounceSubType)))
    return { kind: "bounced", bounce: { kind: "soft", reason: "relay_suppressed" }, diagnostic };
  const read = bounceReason({ status, diagnostic });
  if (bounceType === "Permanent") return { kind: "bounced", bounce: asPermanent(read), diagnostic };
  // SES reports out-of-office replies as transient bounces, without any server's reply.
  if (textOf(recipient.action) !== "failed" && diagnostic === "") return null;
  return { kind: "bounced", bounce: asTransient(read), diagnostic };
}

function complaintOf({ complaintSubType, complaintFeedbackType }: Json): ProviderFeedback["report"] {
  if (complaintSubType === "OnAccountSuppressionList" || complaintFeedbackType === "not-spam") return null;
  return { kind: "complained", feedbackType: textOf(complaintFeedbackType) || "abuse" };
}

/** Reads an Amazon SES event, from an identity's notifications or from a configuration set. Pure and total. */
export function readSesEvent(event: unknown): ProviderFeedback {
  const all = objectOf(event);
  const emailId = emailIdOf(objectOf(all.mail));
  switch (all.notificationType ?? all.eventType) {
    case "Bounce":
      return { emailId, report: bounceOf(objectOf(all.bounce)) };
    case "Complaint":
      return { emailId, report: complaintOf(objectOf(all.complaint)) };
    case "Delivery":
      return { emailId, report: { kind: "delivered" } };
    default:
      return { emailId, report: null };
  }
}
