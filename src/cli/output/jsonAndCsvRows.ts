import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { partialPath, removeDeadPartials } from "../../adapters/directory/partialPath.ts";
import type { SqlRow, SqlValue } from "../../ports/readDatabase.ts";

/** The size of pieces to write. Each is awaited, so memory holds only this much, however slow the reader. */
const PIECE_CHARACTERS = 65_536;

/** Where rows go, line by line. */
export interface RowOutput {
  write(line: string): Promise<void>;
  /** Everything has been written. */
  end(): Promise<void>;
  /** Abandons the output: an incomplete file never appears under its name. */
  abandon(): Promise<void>;
}

function buffered(
  put: (text: string) => Promise<void>,
  output: Pick<RowOutput, "end" | "abandon">,
): RowOutput {
  let text = "";
  const flush = async () => {
    const piece = text;
    text = "";
    await put(piece);
  };
  return {
    async write(line) {
      text += line;
      if (text.length >= PIECE_CHARACTERS) await flush();
    },
    async end() {
      await flush();
      await output.end();
    },
    abandon: output.abandon,
  };
}

/** Standard output. Rejects when nobody reads it any more. */
function standardOutput(): RowOutput {
  const put = (text: string) =>
    new Promise<void>((resolve, reject) => {
      process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
    });
  return buffered(put, { end: async () => {}, abandon: async () => {} });
}

/** A file that appears under its name only when it is complete. */
async function fileOutput(path: string): Promise<RowOutput> {
  await removeDeadPartials(path);
  const partial = partialPath(path);
  const file: FileHandle = await open(partial, "wx", 0o600);
  // A single `write` may write only a part, without an error, when the disk is nearly full.
  return buffered((text) => file.writeFile(text), {
    async end() {
      await file.sync();
      await file.close();
      await rename(partial, path);
    },
    async abandon() {
      await file.close();
      await rm(partial, { force: true });
    },
  });
}

/** A value for JSON; bytes become base64. */
function jsonValue(value: SqlValue): string | number | null {
  return value instanceof Uint8Array ? value.toBase64() : value;
}

/** A key's values for JSON. */
export function jsonKey(key: readonly SqlValue[]): readonly (string | number | null)[] {
  return key.map(jsonValue);
}

/** A row for JSON. */
export function jsonRow(row: SqlRow): Readonly<Record<string, string | number | null>> {
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, jsonValue(value)]));
}

/** One record (RFC 4180). Null is an empty field, the empty text is `""`; bytes are base64. */
export function csvRecord(values: readonly SqlValue[]): string {
  return `${values.map(csvField).join(",")}\r\n`;
}

function csvField(value: SqlValue): string {
  if (value === null) return "";
  const text = String(jsonValue(value));
  return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Opens an output, does the work, and leaves either everything or nothing. */
export async function writeAllOrNothing<Result>(
  path: string | undefined,
  work: (output: RowOutput) => Promise<Result>,
): Promise<Result> {
  const output = path === undefined ? standardOutput() : await fileOutput(path);
  try {
    const result = await work(output);
    await output.end();
    return result;
  } catch (error) {
    await output.abandon();
    throw error;
  }
}
