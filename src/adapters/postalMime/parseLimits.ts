/** Begins each line that may begin a part. The parser takes a kilobyte for one. */
export const BOUNDARY = "\n--";

/** Whether `sequence` occurs more than `max` times. */
export function hasMore(bytes: Buffer, sequence: string, max: number): boolean {
  let at = -1;
  for (let found = 0; found <= max; found += 1) {
    at = bytes.indexOf(sequence, at + 1);
    if (at < 0) return false;
  }
  return true;
}

/** How long reading one mail may take, in ms. A typical mail of 16 MB takes a tenth of that. */
export const PARSE_MS_MAX = 5_000;
