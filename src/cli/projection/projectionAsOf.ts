import { accessSync, constants } from "node:fs";
import { dirname, join, parse } from "node:path";
import { projections } from "../../../projections/index.ts";
import type { Projection, ProjectionTable } from "../../../projections/projection.ts";
import { rfc3339 } from "../../kernel/time.ts";
import type { SqlRow, SqlValue } from "../../ports/readDatabase.ts";
import { type Change, changesBetween, type Past, PastError, withPast } from "../../readModels/asOf.ts";
import { rowsByKey } from "../../readModels/compareTables.ts";
import {
  csvRecord,
  fileOutput,
  jsonKey,
  jsonRow,
  type RowOutput,
  standardOutput,
} from "../output/jsonAndCsvRows.ts";
import { type Command, type Invocation, type Operand, type Option, UsageError } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";
import { parseMoment } from "../program/timeArgument.ts";
import { interruptible, projectionNamed, readingBar } from "./rebuildProgress.ts";

type Format = "jsonl" | "csv";

const OUT: Option = { name: "out", value: "<file>", help: "file to write (default: standard output)" };
const FORMAT: Option = { name: "format", value: "<format>", help: "jsonl or csv (default: jsonl)" };
const TABLE: Option = {
  name: "table",
  value: "<name>",
  help: "one table of the read model (default: all)",
};
const TIME_FORMS =
  "RFC 3339 such as 2027-01-01T00:00:00Z, a date (its first moment in UTC), or how long ago: 90m, 2h, 7d";
const NAME: Operand = {
  name: "name",
  help: `which read model: ${projections.map(({ name }) => name).join(", ")}`,
};
const LEFT = "nothing is left behind";

function momentOf(text: string, now: number): number {
  const at = parseMoment(text, now);
  if (at !== null) return at;
  throw new UsageError(`${text} is no time: ${TIME_FORMS}`);
}

function formatOf(invocation: Invocation): Format {
  const format = invocation.option("format") ?? "jsonl";
  if (format === "jsonl" || format === "csv") return format;
  throw new UsageError("--format takes jsonl or csv");
}

/** Where it is to be written; a usage error when that can't be, before a long reading has been in vain. */
function outOf(invocation: Invocation): string | undefined {
  const out = invocation.option("out");
  if (out === undefined) return undefined;
  try {
    accessSync(dirname(out), constants.W_OK);
    return out;
  } catch (error) {
    throw new UsageError(`--out ${out} cannot be written: ${(error as { code?: string }).code}`);
  }
}

function tablesOf(invocation: Invocation, { name, tables }: Projection): readonly ProjectionTable[] {
  const wanted = invocation.option("table");
  const found = tables.filter((table) => wanted === undefined || table.name === wanted);
  if (found.length > 0) return found;
  throw new UsageError(
    `${name} has no table ${wanted}; it has ${tables.map((table) => table.name).join(", ")}`,
  );
}

/** Opens an output, does the work, and leaves either all of it or nothing. */
async function writing<Result>(
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

/** Builds the past and works with it; the exit status is 1 when an event can't be applied. */
async function onPast(
  invocation: Invocation,
  { projection, moments }: { readonly projection: Projection; readonly moments: readonly number[] },
  work: (pasts: readonly Past[], signal: AbortSignal) => Promise<void>,
): Promise<number> {
  const bar = readingBar(moments.length === 1 ? "as of" : "diff");
  return interruptible(LEFT, async (signal) => {
    try {
      await withLog(
        invocation.config,
        ({ deps: { store }, place }) =>
          withPast({ ...place, store, projection, onProgress: bar.show, signal }, moments, (pasts) => {
            bar.end();
            return work(pasts, signal);
          }),
        { looksOnly: true },
      );
      return 0;
    } catch (error) {
      // Whoever read our output has seen enough.
      if ((error as { code?: string }).code === "EPIPE") return 0;
      if (!(error instanceof PastError)) throw error;
      process.stderr.write(`postledger: ${error.message}\n`);
      return 1;
    } finally {
      bar.end();
    }
  });
}

async function writeTable(
  { db }: Past,
  table: ProjectionTable,
  format: Format,
  { output, signal }: { readonly output: RowOutput; readonly signal: AbortSignal },
): Promise<number> {
  let rows = 0;
  if (format === "csv") await output.write(csvRecord(db.all(`PRAGMA table_info(${table.name})`).map(nameOf)));
  for (const row of rowsByKey(db, table)) {
    signal.throwIfAborted();
    const line =
      format === "csv"
        ? csvRecord(Object.values(row))
        : `${JSON.stringify({ table: table.name, row: jsonRow(row) })}\n`;
    await output.write(line);
    rows += 1;
  }
  return rows;
}

function nameOf({ name }: SqlRow): SqlValue {
  return name ?? null;
}

/** `rows.csv` becomes `rows.<table>.csv`: a file of records has one head. */
function pathOfTable(path: string, { name }: ProjectionTable): string {
  const { dir, name: base, ext } = parse(path);
  return join(dir, `${base}.${name}${ext}`);
}

const asOf: Command = {
  name: "projection as-of",
  operands: [{ name: "time", help: TIME_FORMS }, NAME],
  summary: "Show a read model as it was at a moment",
  description: "Events count by their own time. What was erased since stays erased.",
  examples: [
    "postledger projection as-of 2h due",
    "postledger projection as-of 2026-11-01 due --format csv --out due.csv",
  ],
  options: [OUT, FORMAT, TABLE],
  run(invocation) {
    const name = invocation.operand("name");
    const at = momentOf(invocation.operand("time"), Date.now());
    const projection = projectionNamed(name);
    const format = formatOf(invocation);
    const tables = tablesOf(invocation, projection);
    const out = outOf(invocation);
    const isSplit = format === "csv" && tables.length > 1;
    if (isSplit && out === undefined) {
      throw new UsageError(
        `${name} has several tables: name one with --table (${tables.map((table) => table.name).join(", ")}), or give --out`,
      );
    }
    return onPast(invocation, { projection, moments: [at] }, async ([past], signal) => {
      if (!past) return;
      const written: { table: string; rows: number; file: string | null }[] = [];
      const write = async (file: string | undefined, some: readonly ProjectionTable[]) =>
        writing(file, async (output) => {
          for (const table of some) {
            const rows = await writeTable(past, table, format, { output, signal });
            written.push({ table: table.name, rows, file: file ?? null });
          }
        });
      if (isSplit && out !== undefined) {
        for (const table of tables) await write(pathOfTable(out, table), [table]);
      } else await write(out, tables);
      if (out === undefined) return;
      const lines = written.map(({ table, rows, file }) => `${table}  ${rows} rows  ${file}`);
      invocation.print({ name, as_of: rfc3339(at), tables: written }, lines);
    });
  },
};

const CHANGE_HEAD = ["table", "key", "change", "column", "before", "after"];

/** One record for each column that changed; of a row that came or went, each that holds something. */
function changeRecords({ table, key, change, before, after, columns }: Change): string {
  const changed = change === "changed" ? columns : Object.keys(before ?? after ?? {});
  const keyText = JSON.stringify(jsonKey(key));
  return changed
    .map((column) => [column, before?.[column] ?? null, after?.[column] ?? null] as const)
    .filter(([, was, is]) => was !== null || is !== null)
    .map((cells) => csvRecord([table, keyText, change, ...cells]))
    .join("");
}

function changeLine({ before, after, key, ...change }: Change): string {
  const row = (side: SqlRow | null) => (side === null ? null : jsonRow(side));
  const line = { ...change, key: jsonKey(key), before: row(before), after: row(after) };
  return `${JSON.stringify(line)}\n`;
}

const diff: Command = {
  name: "projection diff",
  operands: [{ name: "from", help: TIME_FORMS }, { name: "to", help: "the same" }, NAME],
  summary: "Show what changed in a read model between two moments",
  examples: [
    "postledger projection diff 1d 1h emails",
    "postledger projection diff 2026-11-01 2026-11-02 due --format csv",
  ],
  options: [OUT, FORMAT],
  run(invocation) {
    const name = invocation.operand("name");
    const now = Date.now();
    const moments = ["from", "to"].map((one) => momentOf(invocation.operand(one), now));
    const projection = projectionNamed(name);
    const format = formatOf(invocation);
    const out = outOf(invocation);
    return onPast(invocation, { projection, moments }, async ([before, after], signal) => {
      if (!before || !after) return;
      const count = { added: 0, removed: 0, changed: 0 };
      await writing(out, async (output) => {
        if (format === "csv") await output.write(csvRecord(CHANGE_HEAD));
        for (const change of changesBetween(before, after)) {
          signal.throwIfAborted();
          count[change.change] += 1;
          await output.write(format === "csv" ? changeRecords(change) : changeLine(change));
        }
      });
      if (out === undefined) return;
      const [fromAt, toAt] = moments.map(rfc3339);
      const { added, removed, changed } = count;
      const line = `${added} rows added, ${removed} removed, ${changed} changed  ${out}`;
      invocation.print({ name, from: fromAt, to: toAt, ...count, file: out }, [line]);
    });
  },
};

export const projectionPastCommands: readonly Command[] = [asOf, diff];
