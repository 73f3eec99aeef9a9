import { headerOf, type ReturnedMailParts } from "../../../kernel/mail/returnedMailParts.ts";
import { fieldOf, headerFields, type ReportFields, reportFields } from "./dsnAndArfFields.ts";

/** A recipient's complaint about a message, as the mailbox provider reports it (RFC 5965). */
export interface ComplaintReport {
  /** In lower case, as registered by RFC 5965 §7.3 and RFC 6430: `abuse`. */
  readonly feedbackType: string;
  /** Whether it counts as a complaint: `not-spam` and authentication reports do not. */
  readonly isComplaint: boolean;
  /** The envelope senders that the report names. Anyone could write it: look for one of our own addresses here. */
  readonly mailFrom: readonly string[];
}

const COMPLAINTS = new Set(["abuse", "fraud", "virus", "other", "opt-out", "opt-out-list", "complaint"]);
const ADDRESSES_MAX = 10;
/** Microsoft's junk mail reports have no report part, only this field in their own or the returned message's header. */
const MICROSOFT_FIELD = "x-hmxmroriginalrecipient";
const ORIGINAL_TYPES = /^(?:message\/(?:rfc822|global|rfc822-headers|global-headers)|text\/rfc822-headers)$/;

function bare(address: string): string {
  return address.replace(/^.*</, "").replace(/>.*$/, "").trim();
}

/** The token in a value that may have comments around it (RFC 5965 §3.5), in lower case. */
function typeOf(value: string): string {
  return value
    .replace(/\([^()]*\)/g, " ")
    .trim()
    .toLowerCase()
    .replace(/[\s;].*$/, "");
}

/** The header fields of the returned message; null without one. */
function returnedHeaders({ parts }: ReturnedMailParts): ReportFields | null {
  const part = parts.find(({ contentType }) => ORIGINAL_TYPES.test(contentType));
  return part === undefined ? null : headerFields(part.content);
}

function mailFromOf(report: ReportFields | undefined, original: ReportFields | null): readonly string[] {
  const given = [...(report?.get("original-mail-from") ?? []), ...(original?.get("return-path") ?? [])];
  return [...new Set(given.map(bare))].filter((address) => address !== "").slice(0, ADDRESSES_MAX);
}

/** Reads a mail as an abuse report; null if it is none. */
export function parseComplaintReport(mail: ReturnedMailParts): ComplaintReport | null {
  const part = mail.parts.find(({ contentType }) => contentType === "message/feedback-report");
  const original = returnedHeaders(mail);
  if (part === undefined) {
    const isMicrosofts = original?.has(MICROSOFT_FIELD) || headerOf(mail, MICROSOFT_FIELD) !== "";
    if (!isMicrosofts) return null;
    return { feedbackType: "abuse", isComplaint: true, mailFrom: mailFromOf(undefined, original) };
  }
  const fields = reportFields(part.content).find((group) => group.has("feedback-type"));
  const feedbackType = fields === undefined ? "" : typeOf(fieldOf(fields, "feedback-type"));
  const isComplaint = COMPLAINTS.has(feedbackType);
  return { feedbackType, isComplaint, mailFrom: mailFromOf(fields, original) };
}
