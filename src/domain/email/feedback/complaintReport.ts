import { headerOf, type ReturnedMailParts } from "../../../kernel/mail/returnedMailParts.ts";
import { fieldOf, headerFields, type ReportFields, reportFields } from "./reportFields.ts";

/** What somebody has said about a message to the provider of the mailbox (RFC 5965). */
export interface ComplaintReport {
  /** In lower case, as registered by RFC 5965 §7.3 and RFC 6430: `abuse`. */
  readonly feedbackType: string;
  /** Whether the recipient does not want it. `not-spam` and reports about authentication are no complaints. */
  readonly isComplaint: boolean;
  /** What the report gives as the sender of the envelope: whoever believes it looks for an address of his own there. */
  readonly mailFrom: readonly string[];
}

const COMPLAINTS = new Set(["abuse", "fraud", "virus", "other", "opt-out", "opt-out-list", "complaint"]);
const ADDRESSES_MAX = 10;
/** The junk mail reporting of Microsoft has no report part, but this field before what it returns. */
const MICROSOFT_FIELD = "x-hmxmroriginalrecipient";
const ORIGINAL_TYPES = /^(?:message\/(?:rfc822|global|rfc822-headers|global-headers)|text\/rfc822-headers)$/;

function bare(address: string): string {
  return address.replace(/^.*</, "").replace(/>.*$/, "").trim();
}

/** The header fields of the message that is returned; null when there is none. */
function returnedHeaders({ parts }: ReturnedMailParts): ReportFields | null {
  const part = parts.find(({ contentType }) => ORIGINAL_TYPES.test(contentType));
  return part === undefined ? null : headerFields(part.content);
}

function mailFromOf(report: ReportFields | undefined, original: ReportFields | null): readonly string[] {
  const given = [...(report?.get("original-mail-from") ?? []), ...(original?.get("return-path") ?? [])];
  return [...new Set(given.map(bare))].filter((address) => address !== "").slice(0, ADDRESSES_MAX);
}

/** The report about abuse that a mail is; null when it is none. */
export function complaintReport(mail: ReturnedMailParts): ComplaintReport | null {
  const part = mail.parts.find(({ contentType }) => contentType === "message/feedback-report");
  const original = returnedHeaders(mail);
  if (part === undefined) {
    const isMicrosofts = original?.has(MICROSOFT_FIELD) || headerOf(mail, MICROSOFT_FIELD) !== "";
    if (!isMicrosofts) return null;
    return { feedbackType: "abuse", isComplaint: true, mailFrom: mailFromOf(undefined, original) };
  }
  const fields = reportFields(part.content).find((group) => group.has("feedback-type"));
  const feedbackType = (fields === undefined ? "" : fieldOf(fields, "feedback-type")).toLowerCase();
  const isComplaint = COMPLAINTS.has(feedbackType);
  return { feedbackType, isComplaint, mailFrom: mailFromOf(fields, original) };
}
