import {
  clockSkewedWebhooks,
  leasedWebhooks,
  type WebhookDeliveryRow,
} from "../../../projections/webhookDeliveries/queries.ts";
import { readWebhookDelivery } from "../../commands/webhookDelivery/readWebhookDelivery.ts";
import { expireWebhookLease } from "../../commands/webhookDelivery/webhookAttempts.ts";
import { ExpiredLeases } from "../worker/expiredLeases.ts";
import { forEachRow } from "../worker/forEachRow.ts";
import { type PeriodicWorker, periodicWorker } from "../worker/periodicWorker.ts";
import { rowBackoff } from "../worker/rowBackoff.ts";
import { rowReader } from "../worker/tryReadRows.ts";
import { recordingOf, type WebhookDeliveryDependencies } from "./deliverWebhook.ts";
import { disableFailingEndpoints } from "./disableFailingEndpoints.ts";

interface LeaseExpiryOptions {
  readonly deps: WebhookDeliveryDependencies;
  /** Whether this process has a call in flight for the delivery. */
  readonly isInFlight: (id: string) => boolean;
  /** Called repeatedly with the deliveries that are due although their times say otherwise. */
  readonly onClockSkewed: (rows: readonly WebhookDeliveryRow[]) => void;
}

/** Claims to watch: more than all instances together are likely to have. */
const LEASED_MAX = 10_000;
/** How often to check leases; a claim is ended at most this late. */
const INTERVAL_MS = 250;
/** How often to look for deliveries that a clock misdated, how soon again after finding some, and how many at once. */
const SKEW_INTERVAL_MS = 5_000;
const SKEW_AGAIN_MS = 1_000;
const SKEWED_MAX = 512;

/** Ends expired leases, finds deliveries that a clock misdated, and disables endpoints that no call reaches. */
export function webhookLeaseExpiryWorker(options: LeaseExpiryOptions): PeriodicWorker {
  const { deps, isInFlight, onClockSkewed } = options;
  const { deliveryGate, onTrouble, store, clock } = deps;
  const leases = new ExpiredLeases(clock, deps.endedWorker);
  const backoff = rowBackoff(clock);
  const read = rowReader(deps.deliveries, onTrouble);
  let skewLookAt = Number.NEGATIVE_INFINITY;
  const disableFailing = disableFailingEndpoints(deps, read);

  const endLeases = async (): Promise<void> => {
    const leased = read((db) => leasedWebhooks(db, LEASED_MAX)) ?? [];
    await forEachRow(leases.expired(leased), { backoff, onTrouble }, async ({ id, attempt }) => {
      // We are still working on it ourselves.
      if (isInFlight(id)) return;
      const { state } = await readWebhookDelivery(store, id);
      if (state === null) return;
      await expireWebhookLease(store, id, attempt, recordingOf(deps, state.origin.workspaceId));
    });
  };

  /** Finds deliveries that are due although their times say otherwise, because a clock was ahead. */
  const findClockSkewed = (now: number): void => {
    if (now < skewLookAt) return;
    const rows = read((db) => clockSkewedWebhooks(db, clock.now(), SKEWED_MAX)) ?? [];
    skewLookAt = now + (rows.length > 0 ? SKEW_AGAIN_MS : SKEW_INTERVAL_MS);
    onClockSkewed(rows);
  };

  const round = async (): Promise<void> => {
    if (await deliveryGate.ask()) await endLeases();
    const now = clock.monotonicMs();
    if (!deliveryGate.isOpen) return;
    findClockSkewed(now);
    await disableFailing(now);
  };

  return periodicWorker({
    round,
    intervalMs: INTERVAL_MS,
    firstDelayMs: 0,
    // End a lease that ran out while the store was away as soon as the store is back.
    backoffMsMax: INTERVAL_MS,
    onTrouble: (error) => onTrouble(error, ""),
  });
}
