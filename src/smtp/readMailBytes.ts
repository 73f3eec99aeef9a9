import type { IncomingBody } from "../http/body/bodyAdmission.ts";
import { BODY_BYTES_MAX } from "../http/body/bodyLimits.ts";
import { Problem } from "../http/server/problem.ts";
import { ByteBuffer } from "../kernel/byteBuffer.ts";
import { grouped } from "../kernel/text/readableNumbers.ts";

/** The largest mail accepted over SMTP, in bytes: the same limit as for a request over HTTP. */
export const MAIL_BYTES_MAX = BODY_BYTES_MAX;

const CR = 0x0d;
const LF = 0x0a;

/** How many bytes beyond the limit are read and discarded, so most clients get to read the reply. */
const DISCARDED_BYTES_MAX = MAIL_BYTES_MAX;

/** A mail's content. `isCut`: we stopped reading before its end. */
export type ReadMailBytes =
  | { readonly kind: "content"; readonly bytes: Buffer }
  | { readonly kind: "tooLarge"; readonly isCut: boolean };

/** Reads a mail's content within its bound. Throws the problem that interrupts it, and whatever `content` throws. */
export async function readMailBytes(
  content: AsyncIterable<Uint8Array>,
  body: IncomingBody,
): Promise<ReadMailBytes> {
  const parts = new ByteBuffer();
  const iterator = content[Symbol.asyncIterator]();
  let bytes = 0;
  for (;;) {
    const { done, value } = await body.next(iterator.next());
    if (done) break;
    bytes += value.byteLength;
    if (bytes > MAIL_BYTES_MAX + DISCARDED_BYTES_MAX) return { kind: "tooLarge", isCut: true };
    if (bytes <= MAIL_BYTES_MAX) {
      body.admit(value.byteLength);
      parts.add(value);
    } else {
      parts.clear();
      body.pass(value.byteLength);
    }
  }
  if (bytes > MAIL_BYTES_MAX) return { kind: "tooLarge", isCut: false };
  return { kind: "content", bytes: parts.join() };
}

/** The refusal of a mail over the bound. */
export function contentTooLarge(): Problem {
  const detail = `the mail is over ${grouped(MAIL_BYTES_MAX)} bytes`;
  return new Problem("PAYLOAD_TOO_LARGE", { detail });
}

/**
 * Whether all lines end with CRLF and hold no NUL (RFC 5321 §2.3.8). Servers disagree about what else ends a line, so a
 * CR or LF alone may hide a second mail in the first.
 */
export function hasPlainLines(bytes: Uint8Array): boolean {
  let before = 0;
  // By index: an iterator takes ten times as long, half a second for the largest mail, and holds up every other request.
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index] ?? 0;
    if (byte === 0 || (byte === LF) !== (before === CR)) return false;
    before = byte;
  }
  return before !== CR;
}
