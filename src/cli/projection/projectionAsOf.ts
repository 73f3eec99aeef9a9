import { join, parse } from "node:path";
import type { Projection, ProjectionTable } from "../../../projections/projection.ts";
import { rfc3339 } from "../../kernel/time.ts";
import type { PastReadModel } from "../../readModels/asOf.ts";
import { rowsByKey } from "../../readModels/compareTables.ts";
import { csvRecord, jsonRow, writeLines } from "../output/jsonAndCsvRows.ts";
import { requireNewPath } from "../output/requireNewPath.ts";
import { type Command, type Invocation, type Option, UsageError } from "../program/command.ts";
import { FORMAT, type Format, formatOf, OUT, outOf, parseTimeOperand, TIME_FORMS } from "./asOfOptions.ts";
import { PROJECTION_NAME, projectionNamed } from "./projectionNames.ts";
import { withReadModelsAsOf } from "./withReadModelsAsOf.ts";

const TABLE: Option = {
  name: "table",
  value: "<name>",
  help: "one table of the read model (default: all)",
};

function tablesOf(invocation: Invocation, { name, tables }: Projection): readonly ProjectionTable[] {
  const wanted = invocation.option("table");
  const found = tables.filter((table) => wanted === undefined || table.name === wanted);
  if (found.length > 0) return found;
  throw new UsageError(
    `${name} has no table ${wanted}; it has ${tables.map((table) => table.name).join(", ")}`,
  );
}

/** The lines of a table; returns the number of rows. */
function* tableLines(
  { db }: PastReadModel,
  table: ProjectionTable,
  format: Format,
  signal: AbortSignal,
): Generator<string, number> {
  let rows = 0;
  if (format === "csv") {
    const columns = db.all(`PRAGMA table_info(${table.name})`).map(({ name = null }) => name);
    yield csvRecord(columns);
  }
  for (const row of rowsByKey(db, table)) {
    signal.throwIfAborted();
    yield format === "csv"
      ? csvRecord(Object.values(row))
      : `${JSON.stringify({ table: table.name, row: jsonRow(row) })}\n`;
    rows += 1;
  }
  return rows;
}

/** `rows.csv` becomes `rows.<table>.csv`, because a CSV file has a single header. */
function pathOfTable(path: string, { name }: ProjectionTable): string {
  const { dir, name: base, ext } = parse(path);
  return join(dir, `${base}.${name}${ext}`);
}

export const projectionAsOf: Command = {
  name: "projection as-of",
  operands: [{ name: "time", help: TIME_FORMS }, PROJECTION_NAME],
  summary: "Show a read model as it was at a past time",
  description: "Events count by their own time. What was erased since stays erased.",
  examples: [
    "postledger projection as-of 2h suppressions",
    "postledger projection as-of 2026-11-01 senders --format csv",
  ],
  options: [OUT, FORMAT, TABLE],
  run(invocation) {
    const name = invocation.operand("name");
    const at = parseTimeOperand(invocation.operand("time"), Date.now());
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
    if (out !== undefined)
      for (const path of isSplit ? tables.map((table) => pathOfTable(out, table)) : [out])
        requireNewPath(path);
    return withReadModelsAsOf(invocation, { projection, times: [at] }, async ([past], signal) => {
      if (!past) return;
      const written: { table: string; rows: number; file: string | null }[] = [];
      const linesOf = async function* (some: readonly ProjectionTable[], file: string | undefined) {
        for (const table of some) {
          const rows = yield* tableLines(past, table, format, signal);
          written.push({ table: table.name, rows, file: file ?? null });
        }
      };
      const write = (file: string | undefined, some: readonly ProjectionTable[]) =>
        writeLines(file, linesOf(some, file));
      if (isSplit && out !== undefined) {
        for (const table of tables) await write(pathOfTable(out, table), [table]);
      } else await write(out, tables);
      if (out === undefined) return;
      const lines = written.map(({ table, rows, file }) => `${table}  ${rows} rows  ${file}`);
      invocation.print({ name, as_of: rfc3339(at), tables: written }, lines);
    });
  },
};
