import { settleWithin } from "../../kernel/concurrency/sleep.ts";
import { wholeNumber } from "../../kernel/text/wholeNumber.ts";
import { SECOND_MS } from "../../kernel/time.ts";

/**
 * The largest rest of a body that is read, in bytes: six times the longest body that is accepted, so that clients learn
 * that theirs is too long. Reading it takes 40 ms of a processor.
 */
const DISCARDED_BYTES_MAX = 100_000_000;
/** How long that may take in all, in ms. */
const DISCARD_MS_MAX = 5 * SECOND_MS;
/** A client that sends nothing for this long waits for its answer. */
const SILENCE_MS_MAX = 500;

/**
 * Reads and drops what is left of a body if its connection closes with the answer (RFC 9112 §9.6). Once it is closed,
 * whatever still arrives resets it, and a client that is writing loses the answer: nginx makes a 502 of it. If the
 * connection stays open, Bun drops the rest.
 */
export async function discardUnreadBody(request: Request, response: Response): Promise<void> {
  if (!closes(request.headers) && !closes(response.headers)) return;
  const announcedBytes = wholeNumber(request.headers.get("content-length") ?? "0") ?? 0;
  if (announcedBytes > DISCARDED_BYTES_MAX || request.body === null || request.body.locked) return;
  // It throws if the client hangs up.
  await readRest(request.body).catch(() => {});
}

function closes(headers: Headers): boolean {
  return /(?:^|,)\s*close\s*(?:,|$)/i.test(headers.get("connection") ?? "");
}

async function readRest(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader();
  const deadline = performance.now() + DISCARD_MS_MAX;
  for (let bytes = 0; bytes <= DISCARDED_BYTES_MAX; ) {
    const ms = Math.min(SILENCE_MS_MAX, deadline - performance.now());
    if (ms <= 0) return;
    const part = await settleWithin(ms, reader.read(), () => null);
    if (part === null || part.done) return;
    bytes += part.value.byteLength;
  }
}
