import {
  clockSkewedWebhooks,
  failingEndpoints,
  leasedWebhooks,
  type WebhookDeliveryRow,
} from "../../../projections/webhookDeliveries/queries.ts";
import { disableFailedEndpoint } from "../../commands/webhook/changeWebhookEndpoint.ts";
import { readWebhookDelivery } from "../../commands/webhookDelivery/readWebhookDelivery.ts";
import { expireWebhookLease } from "../../commands/webhookDelivery/webhookAttempts.ts";
import { FAILING_RULE } from "../../domain/webhook/failingRule.ts";
import { type EpochMs, rfc3339 } from "../../kernel/time.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { ExpiredLeases } from "../worker/expiredLeases.ts";
import { forEachRow } from "../worker/forEachRow.ts";
import { jumpProofTime } from "../worker/jumpProofTime.ts";
import { type PeriodicWorker, periodicWorker } from "../worker/periodicWorker.ts";
import { rowBackoff } from "../worker/rowBackoff.ts";
import { tryReadRows } from "../worker/tryReadRows.ts";
import { recordingOf, type WebhookContext } from "./deliverWebhook.ts";

interface LeaseExpiryOptions {
  readonly context: WebhookContext;
  /** The read model `webhook-deliveries`. */
  readonly deliveries: ReadDatabase;
  /** Waits briefly for it to catch up with the log; false when it does not. */
  readonly waitUntilCaughtUp: () => Promise<boolean>;
  /** Whether this process has a call in flight for the delivery. */
  readonly isInFlight: (id: string) => boolean;
  /** Called repeatedly with the deliveries that are due although their times say otherwise. */
  readonly onClockSkewed: (rows: readonly WebhookDeliveryRow[]) => void;
}

/** Claims to watch: more than all instances together are likely to have. */
const LEASED_MAX = 10_000;
/** Failing endpoints to disable in one look. */
const FAILING_MAX = 1_000;
/** How often to check leases; a claim is ended at most this late. */
const INTERVAL_MS = 250;
/** How often to look for endpoints that no call reaches. */
const FAILING_CHECK_INTERVAL_MS = 60_000;

/** How often to look for deliveries that a clock misdated, how soon again after finding some, and how many at once. */
const CLOCK_SKEWED_CHECK_INTERVAL_MS = 5_000;
const CLOCK_SKEWED_AGAIN_MS = 1_000;
const CLOCK_SKEWED_MAX = 512;

/** Ends expired leases, finds deliveries that a clock misdated, and disables endpoints that no call reaches. */
export function leaseExpiryAndFailingEndpoints(options: LeaseExpiryOptions): PeriodicWorker {
  const { context, deliveries, waitUntilCaughtUp, isInFlight } = options;
  const { deps, deliveryGate, onTrouble } = context;
  const { store, clock } = deps;
  const settled = jumpProofTime(clock);
  const leases = new ExpiredLeases(clock, context.endedWorker);
  const backoff = rowBackoff(clock);
  const read: Read = (query) => tryReadRows(() => query(deliveries), onTrouble);
  let lookedAt = Number.NEGATIVE_INFINITY;
  let clockSkewedDueAt = Number.NEGATIVE_INFINITY;

  const endLeases = async (): Promise<void> => {
    const leased = read((db) => leasedWebhooks(db, LEASED_MAX)) ?? [];
    await forEachRow(leases.expired(leased), { backoff, onTrouble }, async ({ id, attempt }) => {
      // We are still working on it ourselves.
      if (isInFlight(id)) return;
      const { state } = await readWebhookDelivery(store, id);
      if (state === null) return;
      await expireWebhookLease(store, id, attempt, recordingOf(context, state.origin.workspaceId));
    });
  };

  const findClockSkewed = (now: number): void => {
    const rows = read((db) => clockSkewedWebhooks(db, clock.now(), CLOCK_SKEWED_MAX)) ?? [];
    clockSkewedDueAt = now + (rows.length > 0 ? CLOCK_SKEWED_AGAIN_MS : CLOCK_SKEWED_CHECK_INTERVAL_MS);
    options.onClockSkewed(rows);
  };

  const round = async (): Promise<void> => {
    if (await deliveryGate.ask()) await endLeases();
    const now = clock.monotonicMs();
    if (!deliveryGate.isOpen) return;
    if (now >= clockSkewedDueAt) findClockSkewed(now);
    if (now - lookedAt < FAILING_CHECK_INTERVAL_MS) return;
    lookedAt = now;
    // A stale read model has not seen the latest successes.
    if (await waitUntilCaughtUp()) await disableFailing(context, settled() - FAILING_RULE.durationMs, read);
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

type Read = <Result>(query: (db: ReadDatabase) => Result) => Result | null;

/** Disables the endpoints that no call has reached since `since`. */
async function disableFailing(context: WebhookContext, since: EpochMs, read: Read): Promise<void> {
  const { deps } = context;
  const { instance } = await deps.instanceStatus.get();
  // While the log was stopped nobody was called here, and calls made elsewhere meanwhile are unknown.
  if (instance?.downtimes.some(({ to }) => to === null || to > since)) return;
  const failing = read((db) => failingEndpoints(db, rfc3339(since), FAILING_RULE, FAILING_MAX)) ?? [];
  for (const { workspaceId, endpointId } of failing) {
    const { context: command } = recordingOf(context, workspaceId);
    const hasChanged = await disableFailedEndpoint(deps, { endpointId }, "failing", command);
    if (hasChanged) context.onDisabled({ workspaceId, endpointId, reason: "failing" });
  }
}
