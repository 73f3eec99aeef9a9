import { overdueHolders, type StorageHolder } from "../../../projections/storageReservations.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { holderExists } from "../../commands/storage/reservationOwner.ts";
import type { CommandContext } from "../../kernel/event/eventMetadata.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import { StoreError } from "../../ports/eventStore.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { type PeriodicWork, type PeriodicWorker, periodicWorker } from "../worker/periodicWorker.ts";

export interface StaleReservationsOptions extends Pick<PeriodicWork, "onTrouble"> {
  readonly deps: Pick<Dependencies, "store" | "clock" | "storage">;
  /** The read model `storage`. */
  readonly holders: ReadDatabase;
  /** Names this instance in the events it writes. */
  readonly worker: string;
  readonly intervalMs?: number;
}

const INTERVAL_MS = 30 * SECOND_MS;
/** Holders that are looked for in one go. */
const HOLDERS_MAX = 500;

/**
 * Settles reservations of storage whose time is over: what its owner came to use is confirmed, the rest is released.
 * Instances may look at the same time: the second one's answer changes nothing.
 */
export function staleReservations(options: StaleReservationsOptions): PeriodicWorker {
  const { deps, holders, worker, onTrouble, intervalMs = INTERVAL_MS } = options;
  const { store, clock, storage } = deps;

  const settle = async (workspaceId: string, overdue: readonly StorageHolder[]) => {
    const context: CommandContext = {
      at: clock.now(),
      correlationId: worker,
      actor: `worker:${worker}`,
      workspaceId,
    };
    const present: string[] = [];
    for (const { holder } of overdue) {
      if (await holderExists(store, holder)) present.push(holder);
      else await storage.release(workspaceId, holder, context);
    }
    if (present.length > 0) await storage.confirm(workspaceId, present, context);
  };

  /** What cannot be read of one workspace must not keep the others waiting; a store that is away ends the round. */
  const trySettle = async (workspaceId: string, overdue: readonly StorageHolder[]) => {
    try {
      await settle(workspaceId, overdue);
    } catch (error) {
      if (error instanceof StoreError) throw error;
      onTrouble(error);
    }
  };

  const round = async () => {
    const overdue = overdueHolders(holders, clock.now(), HOLDERS_MAX);
    const byWorkspace = Map.groupBy(overdue, ({ workspaceId }) => workspaceId);
    for (const [workspaceId, found] of byWorkspace) await trySettle(workspaceId, found);
  };

  return periodicWorker({ round, intervalMs, firstDelayMs: intervalMs, onTrouble });
}
