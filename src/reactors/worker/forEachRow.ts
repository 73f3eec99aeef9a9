import { StoreError } from "../../ports/eventStore.ts";
import type { RowBackoff } from "./rowBackoff.ts";

interface RowFaults {
  readonly backoff: RowBackoff;
  readonly onTrouble: (error: unknown, id: string) => void;
}

/**
 * Acts on one row after another, except for those that rest. A row that fails rests, and the others go on. Throws
 * `StoreError`: without the store no row can be worked on.
 */
export async function forEachRow<Row extends { readonly id: string }>(
  rows: readonly Row[],
  { backoff, onTrouble }: RowFaults,
  act: (row: Row) => Promise<void>,
): Promise<void> {
  const resting = new Set(backoff.busy());
  for (const row of rows) {
    if (resting.has(row.id)) continue;
    await tryOne(
      () => act(row),
      (error) => {
        backoff.failed(row.id);
        onTrouble(error, row.id);
      },
    );
  }
}

/**
 * Does one of several things and returns whether it succeeded; a fault does not stop the others. Throws `StoreError`:
 * without the store none of them can be done.
 */
export async function tryOne(act: () => Promise<void>, onFault: (error: unknown) => void): Promise<boolean> {
  try {
    await act();
    return true;
  } catch (error) {
    if (error instanceof StoreError) throw error;
    onFault(error);
    return false;
  }
}
