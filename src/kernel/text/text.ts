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

/** A whole number as people read it: 5,000,000. */
export function grouped(value: number): string {
  return value.toLocaleString("en");
}

const BYTE_UNITS = ["kB", "MB", "GB", "TB", "PB"] as const;

/** A number of bytes as people read it: "512 bytes", "1.5 kB", "78 GB". Rounded down: there is that much at least. */
export function bytesText(bytes: number): string {
  if (bytes === 1) return "1 byte";
  let [value, unit] = [bytes, "bytes"];
  for (const larger of BYTE_UNITS) {
    if (value < 1_000) break;
    [value, unit] = [value / 1_000, larger];
  }
  const places = unit === "bytes" || value >= 10 ? 1 : 10;
  return `${Math.floor(value * places) / places} ${unit}`;
}

/** How many there are: "1 message", "2 messages". */
export function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** Whether `value` can be put into one header line: no CR, LF or NUL (RFC 5322 §2.2). */
export function isHeaderSafe(value: string): boolean {
  return !/[\r\n\0]/.test(value);
}

/** At most `unitsMax` UTF-16 units of `value`, never cut inside a surrogate pair. */
export function excerpt(value: string, unitsMax: number): string {
  return value.length <= unitsMax ? value : value.slice(0, unitsMax).replace(/[\uD800-\uDBFF]$/, "");
}

/**
 * A name as somebody may read it whom it was not meant for: letters, digits and a little between them, so that it holds
 * no link, no address and no line of its own. Empty when nothing is left.
 */
export function plainName(name: string, charactersMax: number): string {
  const plain = name.replace(/[^\p{L}\p{M}\p{N}&'-]+/gu, " ").trim();
  return [...plain].slice(0, charactersMax).join("").trim();
}
