import { emailIdOfMessageId } from "../messageId.ts";
import {
  bounceInSesWords,
  diagnosticOf,
  type EventPart,
  listOf,
  objectOf,
  onlyIdAmong,
  type ProviderFeedback,
  textOf,
} from "./providerFeedback.ts";

/** The message tag that carries our id. Tag names consist of letters, digits, hyphens and underscores. */
export const SES_TAG = "postledger_id";

/**
 * Our id: from the tag, which SES returns unchanged, and from our header field and the Message-ID if the event includes
 * them.
 */
function emailIdOf(mail: EventPart): string | null {
  const fields = listOf(mail.headers).map(objectOf);
  const field = fields.find(({ name }) => textOf(name).toLowerCase() === "x-postledger-id");
  return onlyIdAmong([
    ...listOf(objectOf(mail.tags)[SES_TAG]).map(textOf),
    textOf(field?.value),
    emailIdOfMessageId(textOf(objectOf(mail.commonHeaders).messageId)) ?? "",
  ]);
}

function bounceOf({ bounceType, bounceSubType, bouncedRecipients }: EventPart): ProviderFeedback["report"] {
  const recipient = objectOf(listOf(bouncedRecipients)[0]);
  return bounceInSesWords({
    type: bounceType,
    subType: bounceSubType,
    status: textOf(recipient.status),
    diagnostic: diagnosticOf(recipient.diagnosticCode),
    isFailed: recipient.action === "failed",
  });
}

function complaintOf({ complaintSubType, complaintFeedbackType }: EventPart): ProviderFeedback["report"] {
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
