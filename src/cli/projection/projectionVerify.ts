import type { SqlRow } from "../../ports/readDatabase.ts";
import { type Difference, verifyReadModels } from "../../readModels/verifyReadModels.ts";
import { jsonKey, jsonRow } from "../output/jsonAndCsvRows.ts";
import type { Command } from "../program/command.ts";
import { interruptible } from "../program/interruptible.ts";
import { withLog } from "../program/openStoreForCommand.ts";
import { PROJECTION_NAMES, projectionsNamed } from "./projectionNames.ts";
import { readingProgressBar } from "./readingProgressBar.ts";

export const projectionVerify: Command = {
  name: "projection verify",
  operands: [PROJECTION_NAMES],
  summary: "Compare read models with the log, row by row",
  description:
    "Builds copies and reports each difference with the event behind it. Exit status 1 when there is one, or something could not be compared.",
  examples: ["postledger projection verify", "postledger projection verify emails"],
  run: (invocation) =>
    interruptible("there is no result", async (signal) => {
      const differences: Difference[] = [];
      const bar = readingProgressBar("verify");
      const results = await withLog(invocation.config, ({ deps: { store }, storage }) =>
        verifyReadModels({
          ...storage,
          store,
          projections: projectionsNamed(invocation),
          onProgress: bar.show,
          onDifference: (difference) => differences.push(difference),
          signal,
        }),
      ).finally(bar.end);
      const lines = [
        ...differences.map(rowDifferenceLine),
        ...results.map(({ name, rows, differences: found, failure }) =>
          failure === null
            ? `${name}  ${rows} rows, ${found} differences`
            : `${name}  not verified: ${failure}`,
        ),
      ];
      invocation.print({ results, differences }, lines);
      return results.some(({ differences: found, failure }) => found > 0 || failure !== null) ? 1 : 0;
    }),
};

/** A difference for people: which row, what is wrong with it, and the event that proves it. */
function rowDifferenceLine(difference: Difference): string {
  const { projection, table, key, event } = difference;
  const row = `${projection}  ${table} ${JSON.stringify(jsonKey(key))}`;
  const source =
    event === null
      ? "no event says so"
      : `${event.type}, stream ${event.stream}, revision ${event.revision}, ${event.at}`;
  return `${row}  ${whatDiffers(difference)}  (${source})`;
}

function whatDiffers({ live, rebuilt, columns }: Difference): string {
  if (live === null) return `is missing; according to the log it is ${rowText(rebuilt)}`;
  if (rebuilt === null) return `should not exist; it is ${rowText(live)}`;
  const text = (row: SqlRow, column: string) => JSON.stringify(jsonRow(row)[column]);
  return columns
    .map((column) => `${column} is ${text(live, column)}, according to the log ${text(rebuilt, column)}`)
    .join("; ");
}

function rowText(row: SqlRow | null): string {
  return JSON.stringify(row === null ? null : jsonRow(row));
}
