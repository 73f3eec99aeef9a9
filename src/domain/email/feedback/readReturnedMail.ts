import { headerOf, type ReturnedMailParts } from "../../../kernel/mail/returnedMailParts.ts";
import { isAutomaticReply, isReportOfDelivery } from "./automaticReply.ts";
import { type BounceReason, bounceReason } from "./bounceReason.ts";
import { bounceText } from "./bounceText.ts";
import { type ComplaintReport, parseComplaintReport } from "./parseComplaintReport.ts";
import { parseDeliveryStatus, type RecipientStatus } from "./parseDeliveryStatus.ts";

/** What a returned mail says about the message that it refers to. */
export type ReturnedMail =
  /** A server gave up. `diagnostic` is the remote server's reply, unredacted: it may name people. */
  | { readonly kind: "bounced"; readonly bounce: BounceReason; readonly diagnostic: string }
  /** The recipient's server says that it is in the mailbox. */
  | { readonly kind: "delivered" }
  /** A server has it and is still trying: not final. */
  | { readonly kind: "underway" }
  /** Somebody reported it. Unless it came to a return path, believe it only if `mailFrom` has an address of ours. */
  | ({ readonly kind: "reported" } & ComplaintReport)
  /** An automatic reply: it says nothing about the address. */
  | { readonly kind: "autoReply" }
  | { readonly kind: "unknown" };

const STATUS_TYPES = new Set(["message/delivery-status", "message/global-delivery-status"]);
const STATUS_IN_TEXT = /^[ \t]*(?:Final-Recipient|Action|Status)[ \t]*:/im;
const MAILBOX_REPORT = /^[ \t]*Final-Recipient[ \t]*:/im;

function fromStatus(status: RecipientStatus, words: RecipientStatus | null): ReturnedMail {
  if (status.action === "delivered") return { kind: "delivered" };
  if (status.action !== "failed") return { kind: "underway" };
  // A bare status says less than the words of the report.
  const diagnostic = status.diagnostic || (words?.action === "failed" ? words.diagnostic : "");
  return { kind: "bounced", bounce: bounceReason({ status: status.status, diagnostic }), diagnostic };
}

/** A report's delivery status, from its own part or from the readable text; null without one. */
function statusOf({ parts, text }: ReturnedMailParts): RecipientStatus | null {
  for (const { contentType, content } of parts) {
    const status = STATUS_TYPES.has(contentType) ? parseDeliveryStatus(content) : null;
    if (status !== null) return status;
  }
  if (!MAILBOX_REPORT.test(text) || !STATUS_IN_TEXT.test(text)) return null;
  return parseDeliveryStatus(text);
}

/**
 * Reads delivery status notifications (RFC 3464), bounces in plain words, abuse reports (RFC 5965) and automatic replies
 * (RFC 3834). Anyone could have written the mail, so the caller must know from elsewhere which message it is about. Pure
 * and total.
 */
export function readReturnedMail(mail: ReturnedMailParts): ReturnedMail {
  const complaint = parseComplaintReport(mail);
  if (complaint !== null) return { kind: "reported", ...complaint };
  const words = bounceText(headerOf(mail, "subject"), mail.text);
  const status = statusOf(mail);
  if (status !== null) return fromStatus(status, words);
  if (isReportOfDelivery(mail)) return words === null ? { kind: "unknown" } : fromStatus(words, null);
  return isAutomaticReply(mail) ? { kind: "autoReply" } : { kind: "unknown" };
}
