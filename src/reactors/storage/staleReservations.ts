import { type OverdueReservation, overdueReservations } from "../../../projections/storageReservations.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { partsOfOwner } from "../../commands/storage/storageReservationQueue.ts";
import { ACCEPTANCE_REVISION, emailCodec, isAcceptance } from "../../domain/email/events.ts";
import { mailOwnerOf } from "../../kernel/liveOrTestOwner.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { tryOne } from "../worker/forEachRow.ts";
import { type PeriodicWork, type PeriodicWorker, periodicWorker } from "../worker/periodicWorker.ts";
import { type ActingWorker, workerCommandContext } from "../worker/workerCommandContext.ts";

interface StaleReservationsOptions extends Pick<PeriodicWork, "onTrouble">, Pick<ActingWorker, "worker"> {
  readonly deps: Pick<Dependencies, "store" | "clock" | "storage">;
  /** The read model `storage-reservations`. */
  readonly reservations: ReadDatabase;
  readonly intervalMs?: number;
}

const INTERVAL_MS = 30 * SECOND_MS;
/** Reservations checked in one round. */
const RESERVATIONS_MAX = 500;

/**
 * Settles overdue storage reservations: confirms those whose owner exists, and releases the others. Instances may do
 * so at the same time: the second one's answer changes nothing.
 */
export function staleReservations(options: StaleReservationsOptions): PeriodicWorker {
  const { deps, reservations, worker, onTrouble, intervalMs = INTERVAL_MS } = options;
  const { store, clock, storage } = deps;

  const settle = async (accountId: string, overdue: readonly OverdueReservation[]) => {
    const context = workerCommandContext({ clock, worker }, mailOwnerOf(accountId).workspaceId);
    const present: string[] = [];
    for (const { owner } of overdue) {
      if (await ownerExists(store, owner)) present.push(owner);
      else await storage.release(accountId, owner, context);
    }
    if (present.length > 0) await storage.confirm(accountId, present, context);
  };

  const round = async () => {
    const overdue = overdueReservations(reservations, clock.now(), RESERVATIONS_MAX);
    const byAccount = Map.groupBy(overdue, ({ accountId }) => accountId);
    for (const [accountId, found] of byAccount) await tryOne(() => settle(accountId, found), onTrouble);
  };

  return periodicWorker({ round, intervalMs, firstDelayMs: intervalMs, onTrouble });
}

/**
 * Whether the owner of a storage reservation exists: an upload exists if its stream does, and a request's direct files
 * exist if the message was accepted from that very request. Throws `StoreError`.
 */
async function ownerExists(store: EventStore, owner: string): Promise<boolean> {
  const { stream, contentEventId } = partsOfOwner(owner);
  if (contentEventId === null) return (await store.lastRevision(stream)) !== null;
  const [event] = await store.read(stream, ACCEPTANCE_REVISION, 1);
  if (event === undefined) return false;
  const accepted = emailCodec.decode(event);
  return isAcceptance(accepted) && accepted.data.contentEventId === contentEventId;
}
