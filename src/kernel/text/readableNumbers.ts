/** A whole number for people: 5,000,000. */
export function grouped(value: number): string {
  return value.toLocaleString("en");
}

const BYTE_UNITS = ["kB", "MB", "GB", "TB", "PB"] as const;

/** A number of bytes for people: "512 bytes", "1.5 kB", "78 GB". Rounded down, so there is at least that much. */
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

/** A count with its noun: "1 message", "2,000 messages". */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

/** The first `max` of a list, and what to say of the others of `count`: "3 more"; null if there are none. */
export function firstOf<Item>(max: number, items: readonly Item[], count = items.length) {
  const others = count - max;
  return { shown: items.slice(0, max), others: others > 0 ? `${grouped(others)} more` : null };
}

/** A list for people of at most `max` texts: "a, b, 3 more". */
export function listedUpTo(max: number, texts: readonly string[]): string {
  const { shown, others } = firstOf(max, texts);
  return [...shown, ...(others === null ? [] : [others])].join(", ");
}
