import type { SqlRow } from "../../ports/readDatabase.ts";
import type { Difference } from "../../readModels/verifyReadModels.ts";
import { jsonKey, jsonRow } from "./jsonAndCsvRows.ts";

/** A difference as people read it: which row, what is wrong with it, and the event that says so. */
export function rowDifferenceLine(difference: Difference): string {
  const { projection, table, key, event } = difference;
  const row = `${projection}  ${table} ${JSON.stringify(jsonKey(key))}`;
  const source =
    event === null
      ? "no event says so"
      : `${event.type}, stream ${event.stream}, revision ${event.revision}, ${event.at}`;
  return `${row}  ${whatDiffers(difference)}  (${source})`;
}

function whatDiffers({ live, rebuilt, columns }: Difference): string {
  if (live === null) return `is missing; by the log it is ${rowText(rebuilt)}`;
  if (rebuilt === null) return `must not be there; it is ${rowText(live)}`;
  const text = (row: SqlRow, column: string) => JSON.stringify(jsonRow(row)[column]);
  return columns
    .map((column) => `${column} is ${text(live, column)}, by the log ${text(rebuilt, column)}`)
    .join("; ");
}

function rowText(row: SqlRow | null): string {
  return JSON.stringify(row === null ? null : jsonRow(row));
}
