const BOUNDARY = "\n--";

/** Whether more than `linesMax` lines may begin a part. Each one that does costs the parser a kilobyte. */
export function hasMoreBoundaries(bytes: Buffer, linesMax: number): boolean {
  let at = -1;
  for (let lines = 0; lines <= linesMax; lines += 1) {
    at = bytes.indexOf(BOUNDARY, at + 1);
    if (at < 0) return false;
  }
  return true;
}

/** How long reading one mail may take, in ms. A typical mail of 16 MB takes a tenth of that. */
export const PARSE_MS_MAX = 5_000;
