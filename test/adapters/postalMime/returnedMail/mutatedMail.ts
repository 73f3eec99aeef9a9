const CHANGES_MAX = 12;
const STEP = 0x9e3779b9;
const PIECES = [
  "\r\n",
  "\n\n",
  "\0",
  "--=_b1",
  "Action: failed",
  "Status: 5.1.1",
  "=?utf-8?B?",
  ":",
  "550 5.1.1 ",
  "\u2028",
  "Content-Type: message/rfc822\r\n\r\n",
];

/** Whole numbers below a bound, always the same for a seed (mulberry32). */
function numbersOf(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (state + STEP) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

/** The mail with a few bytes changed, cut, doubled, moved or put in between: always the same for a seed. */
export function mutatedMail(mail: string, seed: number): Uint8Array {
  const below = numbersOf(seed);
  let bytes = Buffer.from(mail);
  for (let left = 1 + below(CHANGES_MAX); left > 0; left -= 1) {
    const from = below(bytes.length + 1);
    const to = Math.min(bytes.length, from + below(80));
    const [before, piece, after] = [bytes.subarray(0, from), bytes.subarray(from, to), bytes.subarray(to)];
    const kind = below(5);
    if (kind === 0) bytes = Buffer.concat([before, after]);
    else if (kind === 1) bytes = Buffer.concat([before, piece, piece, after]);
    else if (kind === 2) bytes = Buffer.concat([piece, before, after]);
    else if (kind === 3)
      bytes = Buffer.concat([before, Buffer.from(PIECES[below(PIECES.length)] ?? ""), after]);
    else
      bytes = Buffer.concat([
        before,
        Buffer.from([below(256)]),
        bytes.subarray(Math.min(bytes.length, from + 1)),
      ]);
  }
  return bytes;
}
