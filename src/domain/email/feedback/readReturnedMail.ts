import { headerOf, type ReturnedMailParts } from "../../../kernel/mail/returnedMailParts.ts";
import { isAutomaticReply, isReportOfDelivery } from "./automaticReply.ts";
import { type BounceReason, bounceReason } from "./bounceReason.ts";
import { bounceText } from "./bounceText.ts";
import { type ComplaintReport, complaintReport } from "./complaintReport.ts";
import { deliveryStatus, type RecipientStatus } from "./deliveryStatus.ts";

/** What a mail that came back says about the message that it is about. */
export type ReturnedMail =
  /** It was given up. `diagnostic` is what the server behind has said, as it came: it may name people. */
  | { readonly kind: "bounced"; readonly bounce: BounceReason; readonly diagnostic: string }
  /** It is in the mailbox, as the server there says. */
  | { readonly kind: "delivered" }
  /** A server has it and goes on: this ends nothing. */
  | { readonly kind: "underway" }
  /** Somebody has reported it. To be believed only with an address of ours among `mailFrom`. */
  | ({ readonly kind: "reported" } & ComplaintReport)
  /** A machine has answered for a person: this says nothing about the address. */
  | { readonly kind: "autoReply" }
  | { readonly kind: "unknown" };

const STATUS_TYPES = new Set(["message/delivery-status", "message/global-delivery-status"]);
const STATUS_IN_TEXT = /^[ \t]*(?:Final-Recipient|Action|Status)[ \t]*:/im;
const MAILBOX_REPORT = /^[ \t]*Final-Recipient[ \t]*:/im;

function fromStatus(status: RecipientStatus, words: RecipientStatus | null): ReturnedMail {
  if (status.action === "delivered") return { kind: "delivered" };
  if (status.action !== "failed") return { kind: "underway" };
  // A status alone is worth less than what the report says beside it.
  const diagnostic = status.diagnostic || (words?.action === "failed" ? words.diagnostic : "");
  return { kind: "bounced", bounce: bounceReason({ status: status.status, diagnostic }), diagnostic };
}

/** The delivery status of a report, also where it is in a part for people; null when there is none. */
function statusOf({ parts, text }: ReturnedMailParts): RecipientStatus | null {
  for (const { contentType, content } of parts) {
    const status = STATUS_TYPES.has(contentType) ? deliveryStatus(content) : null;
    if (status !== null) return status;
  }
  if (!MAILBOX_REPORT.test(text) || !STATUS_IN_TEXT.test(text)) return null;
  return deliveryStatus(text);
}

/**
 * Reads delivery status notifications (RFC 3464), also those in words alone, reports of abuse (RFC 5965) and automatic
 * replies (RFC 3834). Whoever could send the mail could write it: which message it is about has to be known otherwise.
 * Pure and total.
 */
export function readReturnedMail(mail: ReturnedMailParts): ReturnedMail {
  const complaint = complaintReport(mail);
  if (complaint !== null) return { kind: "reported", ...complaint };
  const words = bounceText(headerOf(mail, "subject"), mail.text);
  const status = statusOf(mail);
  if (status !== null) return fromStatus(status, words);
  if (isReportOfDelivery(mail)) return words === null ? { kind: "unknown" } : fromStatus(words, null);
  return isAutomaticReply(mail) ? { kind: "autoReply" } : { kind: "unknown" };
}
