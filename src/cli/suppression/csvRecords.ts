/** One record of a file, and the line that it begins on, from 1. */
interface CsvRecord {
  readonly line: number;
  readonly fields: readonly string[];
}

/** A field, and the index of the delimiter or line end after it. */
interface Field {
  readonly value: string;
  readonly end: number;
}

const DELIMITERS = [",", ";", "\t"] as const;
const LINE_END = /\r\n|\n|\r/g;

/**
 * The records of a CSV file (RFC 4180), without empty ones, one at a time: together they would take many times its size.
 * Fields are trimmed. The delimiter is a comma; if the first line has none, a semicolon or a tab. A quotation mark in the
 * middle of a field, or one that is never closed, is an ordinary character.
 */
export function* csvRecords(text: string): Generator<CsvRecord> {
  const [first = ""] = text.split(/\r|\n/, 1);
  const delimiter = DELIMITERS.find((one) => first.includes(one)) ?? ",";
  const plainEnd = new RegExp(`[${delimiter}\\r\\n]`, "g");
  let line = 1;
  let record: { line: number; fields: string[] } = { line, fields: [] };
  for (let at = 0; at < text.length; ) {
    const { value, end } = quotedField(text, at, delimiter) ?? plainField(text, at, plainEnd);
    record.fields.push(value.trim());
    const next = afterEnd(text, end);
    line += text.slice(at, next).match(LINE_END)?.length ?? 0;
    at = next;
    if (text[end] === delimiter && at < text.length) continue;
    if (record.fields.some((field) => field !== "")) yield record;
    record = { line, fields: [] };
  }
}

/**
 * The quoted field that begins here; null if there is none. Scanned by hand: a regular expression fails on a field of
 * some megabytes, which one stray quotation mark makes of the rest of a file.
 */
function quotedField(text: string, start: number, delimiter: string): Field | null {
  if (text[start] !== '"') return null;
  let close = text.indexOf('"', start + 1);
  while (close >= 0 && text[close + 1] === '"') close = text.indexOf('"', close + 2);
  const end = close + 1;
  const isWhole = close >= 0 && (end === text.length || `${delimiter}\r\n`.includes(text[end] ?? ""));
  return isWhole ? { value: text.slice(start + 1, close).replaceAll('""', '"'), end } : null;
}

function plainField(text: string, start: number, plainEnd: RegExp): Field {
  plainEnd.lastIndex = start;
  const end = plainEnd.exec(text)?.index ?? text.length;
  return { value: text.slice(start, end), end };
}

/** The index after the delimiter or line end at `end`. */
function afterEnd(text: string, end: number): number {
  return end + (text.startsWith("\r\n", end) ? 2 : 1);
}
