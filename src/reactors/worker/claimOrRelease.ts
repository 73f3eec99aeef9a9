import { type EventStore, StoreError } from "../../ports/eventStore.ts";
import { type Persistence, retryUntilRecorded } from "./retryUntilRecorded.ts";

interface Claiming<Claim> {
  readonly id: string;
  /** Appends the claim. */
  readonly claim: () => Promise<Claim>;
  /** Reads the log, and releases this worker's claim if it is there. */
  readonly release: () => Promise<unknown>;
}

/**
 * Claims an item. If the outcome of the append is unknown, it releases the claim before it throws: nothing was sent
 * under it, but an expired lease would count as an attempt that may have been made. It can still miss the claim on
 * EventStoreDB, where no call waits for an append that the server still holds. If that lands after the read, nobody
 * releases it: the lease expires.
 */
export async function claimOrRelease<Claim>(
  deps: Persistence & { readonly store: EventStore },
  { id, claim, release }: Claiming<Claim>,
): Promise<Claim> {
  try {
    return await claim();
  } catch (error) {
    if (!(error instanceof StoreError) || error.failure !== "outcomeUnknown") throw error;
    await retryUntilRecorded(deps, id, async () => {
      // An append that ran out of time may still be in the transaction under way, which no read shows.
      await deps.store.flush();
      await release();
    });
    throw error;
  }
}
