import { LRUCache } from "lru-cache";
import { confirmStorage, releaseStorage } from "../../domain/storage/decisions.ts";
import { storageStream } from "../../domain/storage/events.ts";
import type { WorkspaceState } from "../../domain/workspace/state.ts";
import { limitsOf, type WorkspaceLimits } from "../../domain/workspace/workspaceLimits.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { decided } from "../../kernel/event/decider.ts";
import { MINUTE_MS } from "../../kernel/time.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import type { AggregateCache } from "../aggregateCache.ts";
import { StorageReservationQueue } from "./storageReservationQueue.ts";

/** The storage quota of every workspace: which owner holds how many bytes of temporary files. */
export interface FileStorageQuota {
  /**
   * Reserves room for `owner`, `email-<id>/<content event id>` or `attachment-<id>`; false if the quota has no room.
   * `bytes` replaces what the owner already has. Throws `StoreError`.
   */
  reserve(workspaceId: string, owner: string, bytes: number, context: CommandContext): Promise<boolean>;
  /** Releases the reservation of `owner`. Repeatable. */
  release(workspaceId: string, owner: string, context: CommandContext): Promise<void>;
  /** Records that these owners exist: they keep their reservations until those are released. Repeatable. */
  confirm(workspaceId: string, owners: readonly string[], context: CommandContext): Promise<void>;
  /** Bytes that are reserved now. */
  used(workspaceId: string): Promise<number>;
}

interface FileStorageQuotaOptions {
  readonly store: EventStore;
  readonly workspaces: AggregateCache<WorkspaceState>;
  readonly limitsDefault: WorkspaceLimits;
}

/** Any request has ended long before this: an owner that does not exist by then never will. */
const HOLD_MS = 15 * MINUTE_MS;
/** Workspaces whose quota is kept in memory. */
const ACCOUNTS_MAX = 1_000;

/** Exact across instances: a decision made on a stale state loses its append. */
export function fileStorageQuota({
  store,
  workspaces,
  limitsDefault,
}: FileStorageQuotaOptions): FileStorageQuota {
  const accounts = new LRUCache<string, StorageReservationQueue>({ max: ACCOUNTS_MAX });
  const accountOf = (workspaceId: string): StorageReservationQueue => {
    const account =
      accounts.get(workspaceId) ?? new StorageReservationQueue(store, storageStream(workspaceId));
    accounts.set(workspaceId, account);
    return account;
  };
  return {
    async reserve(workspaceId, owner, bytes, context) {
      const limit = limitsOf(await workspaces.get(workspaceId), limitsDefault).storageBytes;
      const request = { owner, bytes, until: context.at + HOLD_MS, limit };
      const outcome = await accountOf(workspaceId).reserve(request, { ...context, workspaceId });
      return outcome === "reserved";
    },
    async release(workspaceId, owner, context) {
      const ownContext = { ...context, workspaceId };
      await accountOf(workspaceId).decide((state) => releaseStorage(state, owner), ownContext);
    },
    async confirm(workspaceId, owners, context) {
      const ownContext = { ...context, workspaceId };
      await accountOf(workspaceId).decide((state) => confirmStorage(state, owners), ownContext);
    },
    async used(workspaceId) {
      const context = { at: 0, correlationId: "", actor: "system", workspaceId };
      return accountOf(workspaceId).decide((state) => decided(state.used), context);
    },
  };
}
