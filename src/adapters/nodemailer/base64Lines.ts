/** RFC 2045 §6.8. */
const LINE_CHARS = 76;
const CR = 0x0d;
const LF = 0x0a;
/** How much to encode at once: whole groups of three bytes, and no giant string. */
const SLICE_BYTES = 3 * 64 * 1_024;

/** The length of `bytes` bytes in base64, in lines of 76 characters with CRLF between them. */
export function base64Length(bytes: number): number {
  const characters = Math.ceil(bytes / 3) * 4;
  return characters + 2 * Math.max(0, Math.ceil(characters / LINE_CHARS) - 1);
}

/**
 * Writes `bytes` in base64 at `start`, in lines of 76 characters with CRLF between them, and returns the length.
 * It encodes everything to the end of the space first, then moves it up line by line, which needs no extra space.
 */
export function writeBase64(bytes: Buffer, target: Buffer, start: number): number {
  const length = base64Length(bytes.length);
  const end = start + length;
  let from = end - Math.ceil(bytes.length / 3) * 4;
  let written = from;
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    const slice = bytes.toString("base64", at, Math.min(at + SLICE_BYTES, bytes.length));
    written += target.write(slice, written, "latin1");
  }
  for (let to = start; from < end; from += LINE_CHARS) {
    if (to > start) {
      target[to] = CR;
      target[to + 1] = LF;
      to += 2;
    }
    const lineEnd = Math.min(from + LINE_CHARS, end);
    target.copyWithin(to, from, lineEnd);
    to += lineEnd - from;
  }
  return length;
}
