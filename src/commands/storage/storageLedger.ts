import { LRUCache } from "lru-cache";
import { confirmStorage, releaseStorage } from "../../domain/storage/decisions.ts";
import { storageStream } from "../../domain/storage/events.ts";
import { limitsOf, type WorkspaceLimits } from "../../domain/workspace/limits.ts";
import type { WorkspaceState } from "../../domain/workspace/state.ts";
import type { Occasion } from "../../kernel/event/eventMetadata.ts";
import { MINUTE_MS } from "../../kernel/time.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import type { FoldCache } from "../aggregateCache.ts";
import { StorageAccount } from "./storageAccount.ts";

/** The storage allowance of every workspace: who holds how many bytes of temporary files. */
export interface StorageLedger {
  /**
   * Reserves room for `holder`, `email-<id>/<content event id>` or `attachment-<id>`; false when the allowance
   * cannot take it. `bytes` takes the place of what the holder has already. Throws `StoreError`.
   */
  reserve(workspaceId: string, holder: string, bytes: number, occasion: Occasion): Promise<boolean>;
  /** Lets go of what `holder` has reserved. Repeatable. */
  release(workspaceId: string, holder: string, occasion: Occasion): Promise<void>;
  /** Notes that these holders exist: they keep what they have until it is released. Repeatable. */
  confirm(workspaceId: string, holders: readonly string[], occasion: Occasion): Promise<void>;
  /** Bytes that are reserved now. */
  used(workspaceId: string): Promise<number>;
}

export interface StorageLedgerOptions {
  readonly store: EventStore;
  readonly workspaces: FoldCache<WorkspaceState>;
  readonly limitsDefault: WorkspaceLimits;
}

/** Long after any request must have ended: a holder that does not exist by then never will. */
const HOLD_MS = 15 * MINUTE_MS;
/** Workspaces whose allowance is kept in memory. */
const ACCOUNTS_MAX = 1_000;

/** Exact across instances: whoever decides on a state that is no longer so loses the append. */
export function storageLedger({ store, workspaces, limitsDefault }: StorageLedgerOptions): StorageLedger {
  const accounts = new LRUCache<string, StorageAccount>({ max: ACCOUNTS_MAX });
  const accountOf = (workspaceId: string): StorageAccount => {
    const account = accounts.get(workspaceId) ?? new StorageAccount(store, storageStream(workspaceId));
    accounts.set(workspaceId, account);
    return account;
  };
  return {
    async reserve(workspaceId, holder, bytes, occasion) {
      const limit = limitsOf(await workspaces.get(workspaceId), limitsDefault).storageBytes;
      const request = { holder, bytes, until: occasion.at + HOLD_MS, limit };
      const outcome = await accountOf(workspaceId).reserve(request, { ...occasion, workspaceId });
      return outcome === "reserved";
    },
    async release(workspaceId, holder, occasion) {
      await accountOf(workspaceId).decide((state) => releaseStorage(state, holder), {
        ...occasion,
        workspaceId,
      });
    },
    async confirm(workspaceId, holders, occasion) {
      await accountOf(workspaceId).decide((state) => confirmStorage(state, holders), {
        ...occasion,
        workspaceId,
      });
    },
    async used(workspaceId) {
      const occasion = { at: 0, correlationId: "", actor: "system", workspaceId };
      return accountOf(workspaceId).decide((state) => ({ outcome: state.used, events: [] }), occasion);
    },
  };
}
