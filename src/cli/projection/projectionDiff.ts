import { rfc3339 } from "../../kernel/time.ts";
import type { SqlRow } from "../../ports/readDatabase.ts";
import { type Change, changesBetween } from "../../readModels/asOf.ts";
import { csvRecord, jsonKey, jsonRow, writeLines } from "../output/jsonAndCsvRows.ts";
import { requireNewPath } from "../output/requireNewPath.ts";
import type { Command } from "../program/command.ts";
import { FORMAT, formatOf, OUT, outOf, parseTimeOperand, TIME_FORMS } from "./asOfOptions.ts";
import { PROJECTION_NAME, projectionNamed } from "./projectionNames.ts";
import { withReadModelsAsOf } from "./withReadModelsAsOf.ts";

const CHANGE_HEAD = ["table", "key", "change", "column", "before", "after"];

/** One record for each changed column; of an added or removed row, for each column with a value. */
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

export const projectionDiff: Command = {
  name: "projection diff",
  operands: [{ name: "from", help: TIME_FORMS }, { name: "to", help: "the same" }, PROJECTION_NAME],
  summary: "Show what changed in a read model between two times",
  examples: [
    "postledger projection diff 1d 1h emails",
    "postledger projection diff 2026-11-01 2026-11-02 api-keys --format csv",
  ],
  options: [OUT, FORMAT],
  run(invocation) {
    const name = invocation.operand("name");
    const now = Date.now();
    const times = ["from", "to"].map((one) => parseTimeOperand(invocation.operand(one), now));
    const projection = projectionNamed(name);
    const format = formatOf(invocation);
    const out = outOf(invocation);
    if (out !== undefined) requireNewPath(out);
    return withReadModelsAsOf(invocation, { projection, times }, async ([before, after], signal) => {
      if (!before || !after) return;
      const count = { added: 0, removed: 0, changed: 0 };
      const lines = async function* () {
        if (format === "csv") yield csvRecord(CHANGE_HEAD);
        for (const change of changesBetween(before, after)) {
          signal.throwIfAborted();
          count[change.change] += 1;
          yield format === "csv" ? changeRecords(change) : changeLine(change);
        }
      };
      await writeLines(out, lines());
      if (out === undefined) return;
      const [fromAt, toAt] = times.map(rfc3339);
      const { added, removed, changed } = count;
      const line = `${added} rows added, ${removed} removed, ${changed} changed  ${out}`;
      invocation.print({ name, from: fromAt, to: toAt, ...count, file: out }, [line]);
    });
  },
};
