import { type EventStore, type Position, requireStoreError } from "../../ports/eventStore.ts";

/** The head of the log; null if the store does not answer within `timeoutMs`. */
export async function headIfAnswering(store: EventStore, timeoutMs: number): Promise<Position | null> {
  try {
    return await store.head({ timeoutMs });
  } catch (error) {
    requireStoreError(error);
    return null;
  }
}
