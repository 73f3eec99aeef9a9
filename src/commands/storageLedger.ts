import type { Occasion } from "../kernel/metadata.ts";

/** The storage allowance of every workspace: who holds how many bytes of temporary files. */
export interface StorageLedger {
  /**
   * Reserves room for `holder`, `email-<id>/<content event id>` or `attachment-<id>`; false when the allowance
   * cannot take it. Throws `StoreError`.
   */
  reserve(workspaceId: string, holder: string, bytes: number, occasion: Occasion): Promise<boolean>;
  /** Lets go of what `holder` has reserved. Repeatable. */
  release(workspaceId: string, holder: string, occasion: Occasion): Promise<void>;
  /** Bytes that are reserved now. */
  used(workspaceId: string): Promise<number>;
}

export function storageLedger(): StorageLedger {
  return { reserve: async () => true, release: async () => {}, used: async () => 0 };
}
