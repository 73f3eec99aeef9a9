import { projections } from "../../../projections/index.ts";
import type { Projection } from "../../../projections/projection.ts";
import { lockDirectory } from "../../adapters/sqlite/directoryLock.ts";
import { listReadModels } from "../../readModels/listReadModels.ts";
import {
  type ReadingProgress,
  type RebuildResult,
  rebuildReadModels,
} from "../../readModels/rebuildReadModels.ts";
import { type Difference, verifyReadModels } from "../../readModels/verifyReadModels.ts";
import { differenceLine } from "../output/rowDifferenceLine.ts";
import type { Command, Invocation, Operand } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";
import { projectionPastCommands } from "./projectionAsOf.ts";
import { interruptible, projectionNamed, readingBar } from "./rebuildProgress.ts";

function named({ args }: Invocation): readonly Projection[] {
  return args.length === 0 ? projections : [...new Set(args)].map(projectionNamed);
}

const NAMES: Operand = {
  name: "name",
  help: `which ones: ${projections.map(({ name }) => name).join(", ")} (default: all)`,
  count: "many",
};

const list: Command = {
  name: "projection list",
  summary: "List the read models with their state and rows",
  description: "Exit status 1 when one has failed.",
  examples: [
    "postledger projection list",
    "postledger projection list --json # With file, checkpoint and what is being built",
  ],
  async run(invocation) {
    const listing = await withLog(
      invocation.config,
      ({ deps, place }) => listReadModels({ ...place, store: deps.store, projections }),
      { looksOnly: true },
    );
    const lines = listing.map((model) => {
      const state = model.status === "current" && !model.isAtHead ? "behind" : model.status;
      return `${model.name}  v${model.version}  ${state}  ${model.rows ?? "?"} rows  ${model.failure ?? ""}`.trimEnd();
    });
    invocation.print(listing, lines);
    return listing.some((model) => model.failure !== null) ? 1 : 0;
  },
};

/** Rebuilds; as the owner of the data directory when no service runs on it. */
async function rebuildNamed(
  invocation: Invocation,
  signal: AbortSignal,
  onProgress: (progress: ReadingProgress) => void,
): Promise<readonly RebuildResult[]> {
  const lock = lockDirectory(invocation.config.dataDir);
  try {
    const fresh = invocation.option("fresh") !== undefined;
    const wanted = { projections: named(invocation), owner: lock !== null, fresh };
    return await withLog(
      invocation.config,
      ({ deps: { store }, place }) => rebuildReadModels({ ...place, ...wanted, store, onProgress, signal }),
      { looksOnly: true },
    );
  } finally {
    lock?.release();
  }
}

const rebuild: Command = {
  name: "projection rebuild",
  operands: [NAMES],
  summary: "Build read models anew from the log and switch to them",
  description:
    "Also beside a running service; it cannot send anything. What an interrupted rebuild has left is gone on with for a day.",
  options: [
    {
      name: "fresh",
      value: null,
      help: "begin at the start of the log (default: go on with what an interrupted rebuild has left)",
    },
  ],
  examples: ["postledger projection rebuild", "postledger projection rebuild emails mail-queue"],
  run: (invocation) =>
    interruptible("the same command goes on from here within a day", async (signal) => {
      const bar = readingBar("rebuild");
      const results = await rebuildNamed(invocation, signal, bar.show).finally(bar.end);
      const lines = results.map(({ name, outcome, file, reason, resumedFrom }) => {
        const how = resumedFrom === null ? "" : "  went on from an interrupted rebuild";
        return `${name}  ${outcome}  ${reason ?? file}${how}`;
      });
      invocation.print(results, lines);
      return results.some(({ outcome }) => outcome === "failed") ? 1 : 0;
    }),
};

const verify: Command = {
  name: "projection verify",
  operands: [NAMES],
  summary: "Compare read models with the log, row by row",
  description:
    "Builds them aside and tells each difference with the event behind it. Exit status 1 when there is one, or something could not be compared.",
  examples: ["postledger projection verify", "postledger projection verify emails"],
  run: (invocation) =>
    interruptible("nothing was decided", async (signal) => {
      const differences: Difference[] = [];
      const bar = readingBar("verify");
      const results = await withLog(
        invocation.config,
        ({ deps: { store }, place }) =>
          verifyReadModels({
            ...place,
            store,
            projections: named(invocation),
            onProgress: bar.show,
            onDifference: (difference) => differences.push(difference),
            signal,
          }),
        { looksOnly: true },
      ).finally(bar.end);
      const lines = [
        ...differences.map(differenceLine),
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

export const projectionCommands: readonly Command[] = [list, rebuild, verify, ...projectionPastCommands];
