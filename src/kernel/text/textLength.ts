/**
 * The number of Unicode code points in `value`, which is what the API calls a character. TypeBox and `length` count
 * UTF-16 code units, so an emoji would count twice.
 */
export function codePoints(value: string): number {
  let count = value.length;
  for (let index = 0; index < value.length - 1; index += 1) {
    const unit = value.charCodeAt(index);
    if (unit < 0xd800 || unit > 0xdbff) continue;
    const next = value.charCodeAt(index + 1);
    if (next < 0xdc00 || next > 0xdfff) continue;
    count -= 1;
    index += 1;
  }
  return count;
}

/** At most `unitsMax` UTF-16 units of `value`, never cut inside a surrogate pair. */
export function excerpt(value: string, unitsMax: number): string {
  return value.length <= unitsMax ? value : value.slice(0, unitsMax).replace(/[\uD800-\uDBFF]$/, "");
}

const QUOTES_BYTES = 2;
const CUT = "…";

export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** The beginning of a text whose JSON is longer than `bytesMax` bytes, with an ellipsis; its JSON is not. */
export function jsonExcerpt(text: string, bytesMax: number): string {
  let bytes = jsonBytes(CUT);
  let kept = "";
  for (const character of text) {
    bytes += jsonBytes(character) - QUOTES_BYTES;
    if (bytes > bytesMax) break;
    kept += character;
  }
  return kept + CUT;
}
