import { type Difference, verifyReadModels } from "../../readModels/verifyReadModels.ts";
import { rowDifferenceLine } from "../output/rowDifferenceLine.ts";
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
    interruptible("nothing was decided", async (signal) => {
      const differences: Difference[] = [];
      const bar = readingProgressBar("verify");
      const results = await withLog(
        invocation.config,
        ({ deps: { store }, storage }) =>
          verifyReadModels({
            ...storage,
            store,
            projections: projectionsNamed(invocation),
            onProgress: bar.show,
            onDifference: (difference) => differences.push(difference),
            signal,
          }),
        { readOnly: true },
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
