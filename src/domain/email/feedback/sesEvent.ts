import { isUuid } from "../../../kernel/ids.ts";
import { bounceReason } from "./bounceReason.ts";
import { asPermanent, asTransient, diagnosticOf, type ProviderFeedback, textOf } from "./providerFeedback.ts";

/** The message tag that carries our id; names have letters, digits, hyphens and underscores. */
export const SES_TAG = "postledger_id";

type Json = Readonly<Record<string, unknown>>;

function objectOf(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/**
 * By the tag, which SES gives back as it is; else by our own field or Message-ID, where these are included. Where they
 * name different messages somebody has put one of them there, and none is believed.
 */
function emailIdOf(mail: Json): string | null {
  const fields = listOf(mail.headers).map(objectOf);
  const field = fields.find(({ name }) => textOf(name).toLowerCase() === "x-postledger-id");
  const messageId = textOf(objectOf(mail.commonHeaders).messageId);
  const named = [
    ...listOf(objectOf(mail.tags)[SES_TAG]).map(textOf),
    textOf(field?.value),
    /^<?([^<>@]+)@/.exec(messageId)?.[1] ?? "",
  ];
  const [id = null, ...others] = new Set(named.filter(isUuid).map((one) => one.toLowerCase()));
  return others.length === 0 ? id : null;
}

/** SES suppresses by itself: such a message was not tried, so nothing new is known of the address. */
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
  // People who are out of office are reported as transient bounces, without a word of any server's.
  if (textOf(recipient.action) !== "failed" && diagnostic === "") return null;
  return { kind: "bounced", bounce: asTransient(read), diagnostic };
}

function complaintOf({ complaintSubType, complaintFeedbackType }: Json): ProviderFeedback["report"] {
  if (complaintSubType === "OnAccountSuppressionList" || complaintFeedbackType === "not-spam") return null;
  return { kind: "complained", feedbackType: textOf(complaintFeedbackType) || "abuse" };
}

/** Reads an event of Amazon SES, of an identity's notifications or of a configuration set. Pure and total. */
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
