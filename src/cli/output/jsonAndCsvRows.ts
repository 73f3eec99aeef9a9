import { open } from "node:fs/promises";
import { nameWhenComplete } from "../../adapters/durableFiles/partialPath.ts";
import { FILE_MODE } from "../../kernel/fileModes.ts";
import { csvField } from "../../kernel/text/guardFormulas.ts";
import type { SqlRow, SqlValue } from "../../ports/readDatabase.ts";

/** The size of pieces to write. Each is awaited, so memory holds only this much, however slow the reader. */
const PIECE_CHARACTERS = 65_536;

/** A value for JSON; bytes become base64. */
function jsonValue(value: SqlValue): string | number | null {
  return value instanceof Uint8Array ? value.toBase64() : value;
}

export function jsonKey(key: readonly SqlValue[]): readonly (string | number | null)[] {
  return key.map(jsonValue);
}

export function jsonRow(row: SqlRow): Readonly<Record<string, string | number | null>> {
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, jsonValue(value)]));
}

/** One record of CSV. Null is an empty field, the empty text is `""`; bytes are base64. */
export function csvRecord(values: readonly SqlValue[]): string {
  const fields = values.map((value) => {
    if (value === "") return '""';
    return typeof value === "string" ? csvField(value) : (jsonValue(value) ?? "");
  });
  return `${fields.join(",")}\r\n`;
}

async function* piecesOf(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let piece = "";
  for await (const line of lines) {
    piece += line;
    if (piece.length < PIECE_CHARACTERS) continue;
    yield piece;
    piece = "";
  }
  yield piece;
}

/** Writes lines to a file that appears under its name only when it is complete; without a path to standard output. */
export async function writeLines(path: string | undefined, lines: AsyncIterable<string>): Promise<void> {
  if (path === undefined) {
    for await (const piece of piecesOf(lines)) await toStandardOutput(piece);
    return;
  }
  await nameWhenComplete(path, async (partial) => {
    await using file = await open(partial, "wx", FILE_MODE);
    // A single `write` may write only a part, without an error, when the disk is nearly full.
    for await (const piece of piecesOf(lines)) await file.writeFile(piece);
    await file.sync();
  });
}

/** Rejects when nobody reads standard output any more. */
function toStandardOutput(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });
}
