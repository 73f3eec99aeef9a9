import {
  failingEndpoints,
  leasedWebhooks,
  misdatedWebhooks,
  type WebhookDeliveryRow,
} from "../../../projections/webhookDeliveries/queries.ts";
import { disableFailedEndpoint } from "../../commands/webhook/changeWebhookEndpoint.ts";
import { readWebhookDelivery } from "../../commands/webhookDelivery/readWebhookDelivery.ts";
import { expireWebhookLease } from "../../commands/webhookDelivery/webhookAttempts.ts";
import { FAILING_RULE } from "../../domain/webhook/failingRule.ts";
import { rfc3339 } from "../../kernel/time.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { ExpiredLeases } from "../worker/expiredLeases.ts";
import { forEachRow } from "../worker/forEachRow.ts";
import { jumpProofTime } from "../worker/jumpProofTime.ts";
import { type PeriodicWorker, periodicWorker } from "../worker/periodicWorker.ts";
import { rowBackoff } from "../worker/rowBackoff.ts";
import { tryReadRows } from "../worker/tryReadRows.ts";
import { recordingOf, type WebhookContext } from "./deliverWebhook.ts";

export interface WebhookHousekeepingOptions {
  readonly context: WebhookContext;
  /** The read model `webhook-deliveries`. */
  readonly deliveries: ReadDatabase;
  /** Waits for a moment until it holds what is in the log now; false when it does not. */
  readonly waitUntilCaughtUp: () => Promise<boolean>;
  /** Whether a call of this process is under way for the delivery. */
  readonly isInFlight: (id: string) => boolean;
  /** Is told again and again which deliveries are due though by their times they are not yet. */
  readonly onMisdated: (rows: readonly WebhookDeliveryRow[]) => void;
}

/** Claims that are watched: more than all instances together are likely to have. */
const LEASED_MAX = 10_000;
/** Failing endpoints that one look disables. */
const FAILING_MAX = 1_000;
/** Leases are looked at this often; a claim is given up at most this late. */
const INTERVAL_MS = 250;
/** Endpoints that nothing gets through to are looked for this often. */
const FAILING_CHECK_INTERVAL_MS = 60_000;

/** Deliveries that a clock has misdated are looked for this often, sooner while there are any, and so many at once. */
const MISDATED_CHECK_INTERVAL_MS = 5_000;
const MISDATED_AGAIN_MS = 1_000;
const MISDATED_MAX = 512;

/** Ends leases that ran out, finds what a clock has misdated, and disables endpoints that nothing gets through to. */
export function webhookHousekeeping(options: WebhookHousekeepingOptions): PeriodicWorker {
  const { context, deliveries, waitUntilCaughtUp, isInFlight } = options;
  const { deps, sendGate, onTrouble } = context;
  const { store, clock } = deps;
  const settled = jumpProofTime(clock);
  const leases = new ExpiredLeases(clock, context.endedWorker);
  const backoff = rowBackoff(clock);
  const read = <Result>(query: (db: ReadDatabase) => Result) =>
    tryReadRows(() => query(deliveries), onTrouble);
  let lookedAt = Number.NEGATIVE_INFINITY;
  let misdatedDueAt = Number.NEGATIVE_INFINITY;

  const endLeases = async (): Promise<void> => {
    const leased = read((db) => leasedWebhooks(db, LEASED_MAX)) ?? [];
    await forEachRow(leases.expired(leased), { backoff, onTrouble }, async ({ id, attempt }) => {
      // What we are at ourselves has not been lost.
      if (isInFlight(id)) return;
      const { state } = await readWebhookDelivery(store, id);
      if (state === null) return;
      await expireWebhookLease(store, id, attempt, recordingOf(context, state.origin.workspaceId));
    });
  };

  const disableFailing = async (): Promise<void> => {
    // A read model that is behind has not seen yet what got through since.
    if (!(await waitUntilCaughtUp())) return;
    const since = settled() - FAILING_RULE.durationMs;
    const { instance } = await deps.instanceStatus.get();
    // Nobody was called while the log was stopped, and what got through elsewhere meanwhile is not known here.
    if (instance?.downtimes.some(({ to }) => to === null || to > since)) return;
    const before = rfc3339(since);
    const failing = read((db) => failingEndpoints(db, before, FAILING_RULE.failuresMin, FAILING_MAX)) ?? [];
    for (const { workspaceId, endpointId } of failing) {
      const { context: command } = recordingOf(context, workspaceId);
      const hasChanged = await disableFailedEndpoint(deps, { endpointId }, "failing", command);
      if (hasChanged) context.onDisabled({ workspaceId, endpointId, reason: "failing" });
    }
  };

  const findMisdated = (now: number): void => {
    const rows = read((db) => misdatedWebhooks(db, clock.now(), MISDATED_MAX)) ?? [];
    misdatedDueAt = now + (rows.length > 0 ? MISDATED_AGAIN_MS : MISDATED_CHECK_INTERVAL_MS);
    options.onMisdated(rows);
  };

  const round = async (): Promise<void> => {
    if (await sendGate.ask()) await endLeases();
    const now = clock.monotonicMs();
    if (!sendGate.isOpen) return;
    if (now >= misdatedDueAt) findMisdated(now);
    if (now - lookedAt < FAILING_CHECK_INTERVAL_MS) return;
    lookedAt = now;
    await disableFailing();
  };

  return periodicWorker({
    round,
    intervalMs: INTERVAL_MS,
    firstDelayMs: 0,
    // A lease that ran out while the store was away is ended as soon as it is back.
    backoffMsMax: INTERVAL_MS,
    onTrouble: (error) => onTrouble(error, ""),
  });
}
