/** One record of a file, and the line that it begins on, from 1. */
export interface CsvRecord {
  readonly line: number;
  readonly fields: readonly string[];
}

const DELIMITERS = [",", ";", "\t"] as const;
const LINE_END = /\r\n|\n|\r/g;

/**
 * The records of a CSV file (RFC 4180), without empty ones. Fields are trimmed. Commas separate them, unless the first
 * line has none, but semicolons or tabs. A quotation mark in the middle of a field, or one that is never closed, is a
 * character like any other.
 */
export function csvRecords(text: string): readonly CsvRecord[] {
  const [first = ""] = text.split(/\r|\n/, 1);
  const delimiter = DELIMITERS.find((one) => first.includes(one)) ?? ",";
  const fieldAndEnd = new RegExp(
    `(?:"((?:[^"]|"")*)"|([^${delimiter}\\r\\n]*))(${delimiter}|\\r\\n|\\n|\\r|$)`,
    "y",
  );
  const records: CsvRecord[] = [];
  let line = 1;
  let record: { line: number; fields: string[] } = { line, fields: [] };
  while (fieldAndEnd.lastIndex < text.length) {
    const [all = "", quoted, plain = "", end] = fieldAndEnd.exec(text) ?? [];
    record.fields.push((quoted?.replaceAll('""', '"') ?? plain).trim());
    line += all.match(LINE_END)?.length ?? 0;
    if (end === delimiter && fieldAndEnd.lastIndex < text.length) continue;
    if (record.fields.some((field) => field !== "")) records.push(record);
    record = { line, fields: [] };
  }
  return records;
}
