import type { ReadModelStorage } from "../../readModels/generations/generationFiles.ts";
import { areReadModelsAhead } from "../../readModels/generations/logCutShort.ts";
import type { ReadingProgress } from "../../readModels/logReadProgress.ts";
import {
  LOG_CUT_SHORT_REFUSAL,
  type RebuildOptions,
  type RebuildResult,
  rebuildReadModels,
} from "../../readModels/rebuildReadModels.ts";
import { lockDataDirectory } from "../../service/dataDirectoryLock.ts";
import { type Command, type Invocation, refuse } from "../program/command.ts";
import { interruptible } from "../program/interruptible.ts";
import { type OpenForCommand, withLog } from "../program/openStoreForCommand.ts";
import { PROJECTION_NAMES, projectionsNamed } from "./projectionNames.ts";
import { readingProgressBar } from "./readingProgressBar.ts";

/** Rebuilds, as the owner of the data directory if no service runs on it. */
async function rebuildNamed(
  invocation: Invocation,
  signal: AbortSignal,
  onProgress: (progress: ReadingProgress) => void,
): Promise<readonly RebuildResult[]> {
  using lock = lockDataDirectory(invocation.config.dataDir);
  const fresh = invocation.option("fresh") !== undefined;
  const wanted = { projections: projectionsNamed(invocation), owner: lock !== null, fresh };
  const options = { ...wanted, onProgress, signal };
  return await withLog(invocation.config, (open) => rebuildFrom(open, options));
}

async function rebuildFrom(
  { deps: { store }, storage, incarnations }: OpenForCommand,
  options: Omit<RebuildOptions, "store" | keyof ReadModelStorage>,
): Promise<readonly RebuildResult[]> {
  if (await areReadModelsAhead(store, storage, incarnations)) refuse(LOG_CUT_SHORT_REFUSAL);
  return rebuildReadModels({ ...storage, ...options, store });
}

export const projectionRebuild: Command = {
  name: "projection rebuild",
  operands: [PROJECTION_NAMES],
  summary: "Rebuild read models from the log and switch to them",
  description:
    "Also works beside a running service, and sends nothing. If it is interrupted, the same command continues it, for a day.",
  options: [
    {
      name: "fresh",
      value: null,
      help: "start over (default: continue a rebuild that was interrupted)",
    },
  ],
  examples: ["postledger projection rebuild", "postledger projection rebuild emails suppressions"],
  run: (invocation) =>
    interruptible("the same command continues from here within a day", async (signal) => {
      const bar = readingProgressBar("rebuild");
      const results = await rebuildNamed(invocation, signal, bar.show).finally(bar.end);
      const lines = results.map(({ name, outcome, file, reason, resumedFrom }) => {
        const how = resumedFrom === null ? "" : "  continued an interrupted rebuild";
        return `${name}  ${outcome}  ${reason ?? file}${how}`;
      });
      const told = results.map(({ resumedFrom, ...result }) => ({ ...result, resumed_from: resumedFrom }));
      invocation.print(told, lines);
      return results.some(({ outcome }) => outcome === "failed") ? 1 : 0;
    }),
};
