import PostalMime, { decodeWords, type Email } from "postal-mime";
import type { MailPart, ReturnedMailParts } from "../../kernel/mail/returnedMailParts.ts";
import { BOUNDARY, hasMore } from "./parseLimits.ts";

/** Many times the size of a report with the headers of the returned message. */
const PARSED_BYTES_MAX = 256 * 1_024;
const HEADER_BYTES_MAX = 128 * 1_024;
const NESTING_MAX = 16;
const BOUNDARY_LINES_MAX = 1_000;

/** Reads the first 256 KiB of a message on the caller's thread, as the port says. */
export async function parseReturnedMail(bytes: Uint8Array): Promise<ReturnedMailParts | null> {
  const read = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, PARSED_BYTES_MAX));
  if (hasMore(read, BOUNDARY, BOUNDARY_LINES_MAX)) return null;
  try {
    const email = await PostalMime.parse(read, {
      // Without it, the text of the returned message is appended to that of the report.
      forceRfc822Attachments: true,
      maxHeadersSize: HEADER_BYTES_MAX,
      maxNestingDepth: NESTING_MAX,
    });
    return mailParts(email, read);
  } catch {
    // It throws for messages beyond its limits.
    return null;
  }
}

function mailParts({ headers, text, html = "", attachments }: Email, bytes: Buffer): ReturnedMailParts {
  return {
    headers: headers.map(({ key, value }) => ({ name: key, value: decodeWords(value) })),
    text: (text ?? textOf(html)) || (attachments.length === 0 ? wholeBody(bytes) : ""),
    parts: attachments.map(({ mimeType, content }): MailPart => {
      const decoded = typeof content === "string" ? content : new TextDecoder().decode(content);
      return { contentType: mimeType, content: decoded };
    }),
  };
}

/** The raw body: some reports use a different boundary between their parts than they declare. */
function wholeBody(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  const end = /\r?\n\r?\n/.exec(text);
  return end === null ? "" : text.slice(end.index);
}

/** Converts enough HTML to text to find a server's reply in it. */
function textOf(html: string): string {
  return html
    .replace(/<(?:br|\/?p|\/?div|\/?tr)\b[^<>]*>/gi, "\n")
    .replace(/<[^<>]*>/g, " ")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&")
    .replaceAll("&nbsp;", " ");
}
