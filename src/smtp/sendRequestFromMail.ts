import type { SendEmailBody } from "../http/email/sendEmailSchema.ts";
import { invalid } from "../http/server/problem.ts";
import { parseAddress } from "../kernel/text/emailAddress.ts";
import type { AttachmentInspector } from "../ports/attachmentInspector.ts";
import type { ParsedFile, ParsedMail, ParsedMailbox } from "../ports/submission/mailParser.ts";
import { mailHeaders, unfolded } from "./mailHeaders.ts";

/** Fields that a mail may have only once (RFC 5322 §3.6): if there are two, nobody knows which one counts. */
const ONCE: readonly string[] = [
  "from",
  "reply-to",
  "subject",
  "message-id",
  "x-idempotency-key",
  "x-postledger-tags",
  "x-postledger-deliver-before",
  "x-postledger-content-retention",
];

const ONLY_ONCE = "must occur once in the header";

const EMPTY_TEXT = "\n";

/** What `file` needs to know about formats. */
type Formats = Pick<AttachmentInspector, "contentTypeOf" | "extensionOf">;

/**
 * Turns a mail into the body of a send, without the recipient; the body is then checked like any other. Other recipients
 * in To and Cc, and header fields that a send cannot carry, are dropped: Bcc, traces, signatures of the original. Throws
 * for what a send cannot express of who gets the mail, from whom, and what is in it.
 */
export function sendRequestFromMail(mail: ParsedMail, formats: Formats): Omit<SendEmailBody, "to"> {
  requireOnce(mail);
  const { subject, text, html, files } = mail;
  const from = sendingMailbox(mail);
  const replyTo = onlyMailbox(mail, "replyTo");
  const headers = mailHeaders(mail);
  const tags = tagsOf(mail);
  return {
    from: from.address,
    ...(from.name === "" ? {} : { from_name: from.name }),
    ...(replyTo === null ? {} : { reply_to: replyTo.address }),
    ...(replyTo === null || replyTo.name === "" ? {} : { reply_to_name: replyTo.name }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(tags.length === 0 ? {} : { tags }),
    ...wordsOf(mail),
    ...(subject === "" ? {} : { subject }),
    ...(html === "" ? {} : { html }),
    // A mail may consist of attachments alone.
    ...(text === "" && html !== "" ? {} : { text: text === "" ? EMPTY_TEXT : text }),
    ...(files.length === 0 ? {} : { attachments: files.map((one, index) => file(one, index, formats)) }),
  };
}

/**
 * Finds the name that To or Cc gives a recipient, the first one if there are several; "" if there is none. Parses these
 * fields once for all recipients, because they may name tens of thousands of people.
 */
export function recipientNames({ shownRecipients }: ParsedMail): (recipient: string) => string {
  const names = new Map(
    shownRecipients.toReversed().map(({ address, name }) => [comparable(address), name] as const),
  );
  return (recipient) => names.get(comparable(recipient)) ?? "";
}

function comparable(address: string): string {
  const parsed = parseAddress(address);
  return "invalid" in parsed ? address : parsed.canonical;
}

/** The value of a field that occurs at most once; null if it is missing. */
export function fieldOf({ headers }: ParsedMail, name: string): string | null {
  return headers.find((field) => field.name.toLowerCase() === name)?.value ?? null;
}

/** The tags in `X-Postledger-Tags`, which have commas between. An empty field has none. */
function tagsOf(mail: ParsedMail): string[] {
  const text = unfolded(fieldOf(mail, "x-postledger-tags") ?? "");
  return text === "" ? [] : text.split(",").map((tag) => tag.trim());
}

/** Members of a send, and the fields of a mail that have their values. */
const WORDS = {
  deliver_before: "x-postledger-deliver-before",
  content_retention: "x-postledger-content-retention",
} as const;

/** The members whose values the mail's header has as they are. The send checks them. An empty field is none. */
function wordsOf(mail: ParsedMail): Pick<SendEmailBody, keyof typeof WORDS> {
  const given = Object.entries(WORDS).map(([member, name]) => [member, unfolded(fieldOf(mail, name) ?? "")]);
  return Object.fromEntries(given.filter(([, text]) => text !== ""));
}

function requireOnce({ headers }: ParsedMail): void {
  const names = headers.map(({ name }) => name.toLowerCase());
  const twice = ONCE.find((name) => names.indexOf(name) !== names.lastIndexOf(name));
  if (twice !== undefined) throw invalid(`/${twice}`, ONLY_ONCE);
}

const FIELDS = { from: "from", replyTo: "reply-to" } as const;

/** The only mailbox in a field; null if it names none. */
function onlyMailbox(mail: ParsedMail, member: keyof typeof FIELDS): ParsedMailbox | null {
  const [first, ...others] = mail[member];
  if (others.length > 0) throw invalid(`/${FIELDS[member]}`, "must name one mailbox, not several");
  return first ?? null;
}

/** The mailbox in From. The API's own rule would ask for a bare address, and here a name may stand before it. */
function sendingMailbox(mail: ParsedMail): ParsedMailbox {
  const from = onlyMailbox(mail, "from");
  if (from === null && (fieldOf(mail, "from") ?? "").trim() === "") throw invalid("/from", "is required");
  if (from === null || "invalid" in parseAddress(from.address))
    throw invalid("/from", "must name one mailbox, such as Ana <ana@example.com>");
  return from;
}

/**
 * A file in the form that a send expects. Mail libraries guess types, and some give none, so we take the type that goes
 * with the extension. The file's content is still checked.
 */
function file({ filename, contentType, contentId, content }: ParsedFile, index: number, formats: Formats) {
  const extension = formats.extensionOf(contentType);
  const name = filename ?? `file-${index + 1}${extension === null ? "" : `.${extension}`}`;
  return {
    filename: name,
    content_type: formats.contentTypeOf(name, { archiveAttachments: true }) ?? contentType,
    ...(contentId === null ? {} : { content_id: contentId }),
    content: Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("base64"),
  };
}
