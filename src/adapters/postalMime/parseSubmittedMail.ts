import {
  type Address,
  type Attachment,
  addressParser,
  decodeWords,
  type Email,
  type Mailbox,
} from "postal-mime";
import { grouped } from "../../kernel/text/readableNumbers.ts";
import type {
  MailParseResult,
  ParsedFile,
  ParsedMail,
  ParsedMailbox,
} from "../../ports/submission/mailParser.ts";
import { isKnownCharset } from "./decodeText.ts";
import { MailTextParser } from "./mailTextParser.ts";
import { BOUNDARY, hasMore } from "./parseLimits.ts";
import { shownContentIds } from "./shownContentIds.ts";

/** How deep multiparts may be nested. Mail written by programs has three levels at most. */
const NESTING_MAX = 20;
/** The limit for all parts together. */
const HEADER_BYTES_MAX = 262_144;
const BOUNDARY_LINES_MAX = 5_000;
/** The parser takes some 200 bytes for each line. Ten megabytes of files in Base64 have 180,000 lines. */
const LINES_MAX = 1_000_000;

/** An encoded word (RFC 2047 §2), and its charset without a language (RFC 2231 §5). */
const ENCODED_WORD = /=\?([^?\s*]+)(?:\*[^?\s]*)?\?[QB]\?[^?]*\?=/gi;
const NOT_ASCII = /\P{ASCII}/u;

/** Reads a submitted mail on the caller's thread. The mail's size and the limits above bound its work. */
export async function parseSubmittedMail(bytes: Uint8Array): Promise<MailParseResult> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (hasMore(buffer, BOUNDARY, BOUNDARY_LINES_MAX)) return { kind: "refused", reason: "has too many parts" };
  if (hasMore(buffer, "\n", LINES_MAX)) {
    return {
      kind: "refused",
      reason: `has more than ${grouped(LINES_MAX)} lines: encode its files in Base64`,
    };
  }
  try {
    const parser = new MailTextParser({
      // A message within a message is an ordinary file, and not part of the text.
      forceRfc822Attachments: true,
      maxRfc822NestingDepth: 0,
      maxNestingDepth: NESTING_MAX,
      maxHeadersSize: HEADER_BYTES_MAX,
    });
    const email = await parser.parse(bytes);
    requireReadableSubject(email);
    return { kind: "mail", mail: parsed(email) };
  } catch (error) {
    return { kind: "refused", reason: `cannot be read: ${(error as Error).message}` };
  }
}

/** Throws if the library cannot decode the Subject: it would put other characters there. */
function requireReadableSubject({ headers, subject = "" }: Email): void {
  const raw = headers.find(({ key }) => key === "subject")?.value ?? "";
  const unknown = [...raw.matchAll(ENCODED_WORD)].find(
    ([word, charset = ""]) => !isKnownCharset(charset) && NOT_ASCII.test(decodeWords(word)),
  );
  const isBroken = subject.includes("\ufffd") && !raw.includes("\ufffd");
  if (unknown !== undefined || isBroken) throw new Error("its Subject is not in the charset that it names");
}

function parsed(email: Email): ParsedMail {
  const { headers, replyTo = [], to = [], cc = [], subject = "", text = "", html = "" } = email;
  const shown = shownContentIds(html);
  const from = headers.flatMap(({ key, value }) => (key === "from" ? addressParser(value) : []));
  return {
    headers: headers.map(({ originalKey, value }) => ({ name: originalKey, value: decodeWords(value) })),
    from: mailboxes(from),
    replyTo: mailboxes(replyTo),
    shownRecipients: mailboxes([...to, ...cc]),
    subject,
    text: withoutLastBreak(text),
    html: withoutLastBreak(html),
    files: email.attachments.map((attachment) => file(attachment, shown)),
  };
}

/** The last line break belongs to the boundary after it, or to the end of the mail (RFC 2046 §5.1.1). */
function withoutLastBreak(text: string): string {
  return text.replace(/\r?\n$/, "");
}

function mailboxes(addresses: readonly Address[]): readonly ParsedMailbox[] {
  return addresses.flatMap((address) =>
    address.group === undefined ? mailbox(address) : address.group.flatMap(mailbox),
  );
}

function mailbox({ name, address }: Mailbox): readonly ParsedMailbox[] {
  return address === "" ? [] : [{ name, address }];
}

/** Programs give every file a Content-ID, but it matters only if the html refers to it. */
function file(
  { filename, mimeType, contentId, content }: Attachment,
  shown: ReadonlySet<string>,
): ParsedFile {
  const id = contentId?.replace(/^<|>$/g, "") ?? "";
  return {
    filename,
    contentType: mimeType,
    contentId: shown.has(id) ? id : null,
    content: typeof content === "string" ? new TextEncoder().encode(content) : new Uint8Array(content),
  };
}
