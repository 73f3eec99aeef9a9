import { headerOf, type ReturnedMailParts } from "../../../kernel/mail/returnedMailParts.ts";
import { isAutomaticReply, isReadReceipt, isReportInWords } from "./automaticReply.ts";
import { asTransient, type BounceReason, bounceReason } from "./bounceReason.ts";
import { bounceText, quotesServer } from "./bounceText.ts";
import { type ComplaintReport, parseComplaintReport } from "./parseComplaintReport.ts";
import { parseDeliveryStatus, type RecipientStatus } from "./parseDeliveryStatus.ts";

/** A server gave up. */
interface ReturnedBounce {
  readonly kind: "bounced";
  readonly bounce: BounceReason;
  /** The remote server's reply, unredacted: it may name people. */
  readonly diagnostic: string;
  /** Whom it tried to deliver to, as it says; "" if it does not. */
  readonly failedRecipient: string;
}

/** What a returned mail says about the message that it refers to. */
export type ReturnedMail =
  | ReturnedBounce
  /** The recipient's server says that it is in the mailbox. */
  | { readonly kind: "delivered" }
  /** A server has it and is still trying: not final. */
  | { readonly kind: "underway" }
  /** Somebody reported it. Unless it came to a return path, believe it only if `mailFrom` has an address of ours. */
  | ({ readonly kind: "reported" } & ComplaintReport)
  /** An automatic reply, or a read receipt: it says nothing about the address. */
  | { readonly kind: "autoReply" }
  | { readonly kind: "unknown" };

const STATUS_TYPES = new Set(["message/delivery-status", "message/global-delivery-status"]);
const RECIPIENT_IN_TEXT = /^[ \t]*Final-Recipient[ \t]*:/im;
const STATUS_IN_TEXT = /^[ \t]*(?:Action|Status)[ \t]*:/im;

function fromStatus(
  mail: ReturnedMailParts,
  status: RecipientStatus,
  words: RecipientStatus | null,
): ReturnedMail {
  if (status.action === "delivered") return { kind: "delivered" };
  if (status.action !== "failed") return { kind: "underway" };
  // A bare status says less than the words of the report.
  const diagnostic = status.diagnostic || (words?.action === "failed" ? words.diagnostic : "");
  const read = bounceReason({ status: status.status, diagnostic });
  const bounce = status.isPartial ? asTransient(read) : read;
  const failedRecipient = status.recipient || headerOf(mail, "x-failed-recipients").trim();
  return { kind: "bounced", bounce, diagnostic, failedRecipient };
}

/** The delivery status in a report's part for it; null without one. */
function statusInPart({ parts }: ReturnedMailParts): RecipientStatus | null {
  for (const { contentType, content } of parts) {
    const status = STATUS_TYPES.has(contentType) ? parseDeliveryStatus(content) : null;
    if (status !== null) return status;
  }
  return null;
}

/** The same fields in the readable text, where some servers put them; null without them. */
function statusInText({ text }: ReturnedMailParts): RecipientStatus | null {
  return RECIPIENT_IN_TEXT.test(text) && STATUS_IN_TEXT.test(text) ? parseDeliveryStatus(text) : null;
}

/**
 * Reads delivery status notifications (RFC 3464), bounces in plain words, abuse reports (RFC 5965), automatic replies
 * (RFC 3834) and read receipts (RFC 8098). Anyone could have written the mail, so the caller must know from elsewhere
 * which message it is about. Pure and total.
 */
export function readReturnedMail(mail: ReturnedMailParts): ReturnedMail {
  const complaint = parseComplaintReport(mail);
  if (complaint !== null) return { kind: "reported", ...complaint };
  if (isReadReceipt(mail)) return { kind: "autoReply" };
  const subject = headerOf(mail, "subject");
  const words = bounceText(subject, mail.text);
  const status = statusInPart(mail);
  if (status !== null) return fromStatus(mail, status, words);
  // Postfix leaves the part empty if it has lost its record of the failure.
  const hasStatusPart = mail.parts.some(({ contentType }) => STATUS_TYPES.has(contentType));
  const isReport = hasStatusPart || isReportInWords(mail, quotesServer(subject, mail.text));
  if (!isReport && isAutomaticReply(mail)) return { kind: "autoReply" };
  const said = statusInText(mail) ?? (isReport ? words : null);
  return said === null ? { kind: "unknown" } : fromStatus(mail, said, words);
}
