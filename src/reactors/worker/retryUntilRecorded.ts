import { StoreError } from "../../ports/eventStore.ts";
import type { ClaimWorkerDependencies } from "./claimWorkerDependencies.ts";

const RECORD_RETRY_MS_FIRST = 100;
const RECORD_RETRY_MS_MAX = 5_000;

/** What {@link retryUntilRecorded} needs to know. */
export type Persistence = Pick<ClaimWorkerDependencies, "abandoned" | "onTrouble">;

/** Retries until the log has it, however often the store fails: a known outcome must not be lost. */
export async function retryUntilRecorded(
  deps: Persistence,
  id: string,
  work: () => Promise<unknown>,
): Promise<void> {
  for (let delayMs = RECORD_RETRY_MS_FIRST; ; delayMs = Math.min(RECORD_RETRY_MS_MAX, delayMs * 2)) {
    try {
      await work();
      return;
    } catch (error) {
      if (!(error instanceof StoreError) || deps.abandoned.aborted) throw error;
      deps.onTrouble(error, id);
      await Bun.sleep(delayMs);
    }
  }
}
