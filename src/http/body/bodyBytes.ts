import { ByteBuffer } from "../../kernel/byteBuffer.ts";
import { nextTurn } from "../../kernel/concurrency/sleep.ts";
import { grouped } from "../../kernel/text/readableNumbers.ts";
import { wholeNumber } from "../../kernel/text/wholeNumber.ts";
import { invalid, Problem } from "../server/problem.ts";
import type { IncomingBody } from "./bodyAdmission.ts";
import { SMALL_BODY_BYTES_MAX } from "./bodyLimits.ts";

/** How much of a large body must arrive before it gets all the memory it announces. */
const PROBED_BYTES = 262_144;

function tooLarge(bytesMax: number): Problem {
  return new Problem("PAYLOAD_TOO_LARGE", { detail: `the body is over ${grouped(bytesMax)} bytes` });
}

/** The media type in Content-Type, without parameters; "" if there is none. */
export function mediaTypeOf(headers: Headers): string {
  return (headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** Refuses a compressed body. */
export function requireIdentity(headers: Headers): void {
  const encoding = (headers.get("content-encoding") ?? "identity").trim().toLowerCase();
  if (encoding !== "identity") throw invalid("/Content-Encoding", "must be identity");
}

/** The Content-Length; null without one. Two of them, even equal ones, arrive as "12, 12". */
export function contentLengthOf(headers: Headers): number | null {
  const text = headers.get("content-length");
  if (text === null) return null;
  const length = wholeNumber(text);
  if (length !== null) return length;
  throw invalid("/Content-Length", "must be sent once, as a whole number");
}

export function announcesBody(headers: Headers): boolean {
  return headers.has("transfer-encoding") || (contentLengthOf(headers) ?? 0) > 0;
}

/**
 * Reads the bytes of a body, up to its limit; a longer one is refused, with `refusal` if there is one. A small body
 * with a known length is read in one go, the cheapest way for a send, and reserves all its room at the start; for others
 * only what has arrived counts.
 */
export async function readBytes(
  request: Request,
  body: IncomingBody,
  bytesMax: number,
  refusal?: Problem,
): Promise<Uint8Array> {
  const length = contentLengthOf(request.headers);
  if (length !== null && length > bytesMax) throw refusal ?? tooLarge(bytesMax);
  if (length === null || length > SMALL_BODY_BYTES_MAX) {
    return readAsItComes(request, body, { length, bytesMax, refusal });
  }
  body.admit(length);
  return new Uint8Array(await body.next(request.arrayBuffer()));
}

/** Keeps a large body in memory only once: joins its parts as soon as enough has arrived to trust its length. */
async function readAsItComes(
  request: Request,
  body: IncomingBody,
  { length, bytesMax, refusal }: { length: number | null; bytesMax: number; refusal: Problem | undefined },
): Promise<Uint8Array> {
  const parts = new ByteBuffer();
  let whole: Uint8Array | null = null;
  let bytes = 0;
  for await (const part of partsOf(request, body)) {
    if (bytes + part.byteLength > bytesMax) throw refusal ?? tooLarge(bytesMax);
    body.admit(part.byteLength);
    if (whole === null) parts.add(part);
    else whole.set(part, bytes);
    bytes += part.byteLength;
    if (whole === null && length !== null && bytes >= PROBED_BYTES) {
      whole = parts.join(length);
      parts.clear();
    }
  }
  return whole ?? parts.join();
}

/**
 * After this many parts, other requests get their turn. A client that sends very short parts (chunks of one byte) has
 * many of them ready at once; those that arrive meanwhile come joined. A body of 16 MB usually comes in 30 to 250 parts.
 */
const PARTS_AT_ONCE_MAX = 100;

/**
 * The parts of a body as they arrive. Throws if the connection ends early or the body is cut off. Whoever stops reading
 * earlier leaves the rest to `discardUnreadBody`.
 */
export async function* partsOf(
  { body: stream }: Request,
  body: IncomingBody,
): AsyncGenerator<Uint8Array, void, void> {
  const reader = stream?.getReader();
  if (reader === undefined) return;
  try {
    for (let parts = 1; ; parts += 1) {
      const { done, value } = await body.next(reader.read());
      if (done) return;
      yield value;
      if (parts % PARTS_AT_ONCE_MAX === 0) await nextTurn();
    }
  } catch (error) {
    await reader.cancel().catch(() => {});
    throw error;
  } finally {
    reader.releaseLock();
  }
}
