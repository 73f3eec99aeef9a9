import PostalMime, { type Email } from "postal-mime";
import type { MailPart, ReturnedMailParts } from "../../kernel/mail/returnedMailParts.ts";
import type { ReturnedMailParser } from "../../ports/mail/returnedMailParser.ts";
import { hasMoreBoundaries } from "./parseLimits.ts";

/** A report and the headers of what it returns fit many times over. */
const PARSED_BYTES_MAX = 256 * 1_024;
const HEADER_BYTES_MAX = 128 * 1_024;
const NESTING_MAX = 16;
const BOUNDARY_LINES_MAX = 1_000;

/** Reads the first 256 KiB of a message with postal-mime. */
export const returnedMailParser: ReturnedMailParser = {
  async parse(bytes) {
    const read = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, PARSED_BYTES_MAX));
    if (hasMoreBoundaries(read, BOUNDARY_LINES_MAX)) return null;
    try {
      const email = await PostalMime.parse(read, {
        // Without it the text of a returned message runs into the text of the report.
        forceRfc822Attachments: true,
        maxHeadersSize: HEADER_BYTES_MAX,
        maxNestingDepth: NESTING_MAX,
      });
      return mailParts(email, read);
    } catch {
      // What it throws at is a message beyond its bounds.
      return null;
    }
  },
};

function mailParts({ headers, text, html = "", attachments }: Email, bytes: Buffer): ReturnedMailParts {
  return {
    headers: headers.map(({ key, value }) => ({ name: key, value })),
    text: (text ?? textOf(html)) || (attachments.length === 0 ? wholeBody(bytes) : ""),
    parts: attachments.map(({ mimeType, content }): MailPart => {
      const decoded = typeof content === "string" ? content : new TextDecoder().decode(content);
      return { contentType: mimeType, content: decoded };
    }),
  };
}

/** The body as it was written: some reports have another boundary between their parts than they say. */
function wholeBody(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  const end = /\r?\n\r?\n/.exec(text);
  return end === null ? "" : text.slice(end.index);
}

/** Enough of HTML to find what a server has said in it. */
function textOf(html: string): string {
  return html
    .replace(/<(?:br|\/?p|\/?div|\/?tr)\b[^<>]*>/gi, "\n")
    .replace(/<[^<>]*>/g, " ")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&")
    .replaceAll("&nbsp;", " ");
}
