import { LRUCache } from "lru-cache";
import { confirmStorage, releaseStorage } from "../../domain/storage/decisions.ts";
import { storageStream } from "../../domain/storage/events.ts";
import type { WorkspaceState } from "../../domain/workspace/state.ts";
import { limitsOf, type WorkspaceLimits } from "../../domain/workspace/workspaceLimits.ts";
import type { CommandContext, WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { decided } from "../../kernel/event/decider.ts";
import { mailOwnerOf } from "../../kernel/liveOrTestOwner.ts";
import { MINUTE_MS } from "../../kernel/time.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import type { AggregateCache } from "../aggregateCache.ts";
import type { LimitWatch } from "../quota/limitWatch.ts";
import { StorageReservationQueue } from "./storageReservationQueue.ts";

/**
 * The storage quota of every account: which owner holds how many bytes of temporary files. A workspace has one account
 * under its own id, for uploads and live mail, and one of the same size for its test mail (`mailOwnerId`).
 */
export interface FileStorageQuota {
  /**
   * Reserves room for `owner`, `email-<id>/<content event id>` or `attachment-<id>`. `bytes` replaces what the owner
   * already has. Throws `StoreError`.
   */
  reserve(accountId: string, owner: string, bytes: number, context: CommandContext): Promise<ReserveOutcome>;
  /** Releases the reservation of `owner`. Repeatable. */
  release(accountId: string, owner: string, context: CommandContext): Promise<void>;
  /** Records that these owners exist: they keep their reservations until those are released. Repeatable. */
  confirm(accountId: string, owners: readonly string[], context: CommandContext): Promise<void>;
  /** Bytes that are reserved now. */
  used(accountId: string): Promise<number>;
}

/** `noRoom`: not now. `neverFits`: it is larger than the whole quota. */
export type ReserveOutcome = "reserved" | "noRoom" | "neverFits";

interface FileStorageQuotaOptions {
  readonly store: EventStore;
  readonly workspaces: AggregateCache<WorkspaceState>;
  readonly limitsDefault: WorkspaceLimits;
  /** Told of each look at what is used. */
  readonly limitWatch: Pick<LimitWatch, "note">;
}

/** Any request has ended long before this: an owner that does not exist by then never will. */
const HOLD_MS = 15 * MINUTE_MS;
/** Accounts that are kept in memory. */
const ACCOUNTS_MAX = 1_000;

/** Exact across instances: a decision made on a stale state loses its append. */
export function fileStorageQuota({
  store,
  workspaces,
  limitsDefault,
  limitWatch,
}: FileStorageQuotaOptions): FileStorageQuota {
  const accounts = new LRUCache<string, StorageReservationQueue>({ max: ACCOUNTS_MAX });
  const accountOf = (accountId: string): StorageReservationQueue => {
    const account = accounts.get(accountId) ?? new StorageReservationQueue(store, storageStream(accountId));
    accounts.set(accountId, account);
    return account;
  };
  return {
    async reserve(accountId, owner, bytes, context) {
      const ownContext = ofWorkspace(accountId, context);
      const limit = limitsOf(await workspaces.get(ownContext.workspaceId), limitsDefault).storageBytes;
      const request = { owner, bytes, until: context.at + HOLD_MS, limit };
      const { outcome, used } = await accountOf(accountId).reserve(request, ownContext);
      const isUsedUp = outcome === "exceeded";
      if (isUsedUp && bytes > limit) return "neverFits";
      limitWatch.note({ limit: "storage", ownerId: accountId, used, of: limit, isUsedUp });
      return isUsedUp ? "noRoom" : "reserved";
    },
    async release(accountId, owner, context) {
      await accountOf(accountId).decide(
        (state) => releaseStorage(state, owner),
        ofWorkspace(accountId, context),
      );
    },
    async confirm(accountId, owners, context) {
      await accountOf(accountId).decide(
        (state) => confirmStorage(state, owners),
        ofWorkspace(accountId, context),
      );
    },
    async used(accountId) {
      const context = ofWorkspace(accountId, { at: 0, correlationId: "", actor: "system" });
      return accountOf(accountId).decide((state) => decided(state.used), context);
    },
  };
}

/** The context as the workspace's that the account belongs to. */
function ofWorkspace(accountId: string, context: CommandContext): WorkspaceCommandContext {
  return { ...context, workspaceId: mailOwnerOf(accountId).workspaceId };
}
