import type { Projection } from "../../../projections/projection.ts";
import { AsOfError, type PastReadModel, withReadModelAsOf } from "../../readModels/asOf.ts";
import { CommandFailure, type Invocation } from "../program/command.ts";
import { interruptible } from "../program/interruptible.ts";
import { withLog } from "../program/openStoreForCommand.ts";
import { readingProgressBar } from "./readingProgressBar.ts";

const LEFT = "nothing is left behind";

/** Builds past read models and works with them. The exit status is 1 if an event cannot be applied. */
export async function withReadModelsAsOf(
  invocation: Invocation,
  { projection, times }: { readonly projection: Projection; readonly times: readonly number[] },
  work: (pasts: readonly PastReadModel[], signal: AbortSignal) => Promise<void>,
): Promise<number> {
  const bar = readingProgressBar(times.length === 1 ? "as of" : "diff");
  return interruptible(LEFT, async (signal) => {
    try {
      await withLog(invocation.config, ({ deps: { store }, storage }) =>
        withReadModelAsOf({ ...storage, store, projection, onProgress: bar.show, signal }, times, (pasts) => {
          bar.end();
          return work(pasts, signal);
        }),
      );
      return 0;
    } catch (error) {
      // Whoever reads our output has seen enough.
      if ((error as { code?: string }).code === "EPIPE") return 0;
      if (error instanceof AsOfError) throw new CommandFailure("unreadable_event", error.message);
      throw error;
    } finally {
      bar.end();
    }
  });
}
