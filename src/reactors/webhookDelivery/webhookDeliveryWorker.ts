import {
  nextWebhookReadyAt,
  readyWebhooks,
  type WebhookDeliveryRow,
} from "../../../projections/webhookDeliveries/queries.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { mapToWebhookEvent } from "../../commands/webhookDelivery/webhookPayload.ts";
import { settleWithin } from "../../kernel/concurrency/sleep.ts";
import { DeliveryGate, type DeliveryGateOptions } from "../instance/deliveryGate.ts";
import { ClaimScheduler, type WorkPermit } from "../worker/claimScheduler.ts";
import { hasDiskForClaims } from "../worker/hasDiskForClaims.ts";
import type { PeriodicWorker } from "../worker/periodicWorker.ts";
import { rowReader } from "../worker/tryReadRows.ts";
import { type BlockedDestination, BlockedDestinationReports } from "./blockedDestinationReports.ts";
import { deliverWebhook, type WebhookDeliveryDependencies } from "./deliverWebhook.ts";
import { EndpointBulkhead } from "./endpointBulkhead.ts";
import { payloadCache } from "./payloadCache.ts";
import { webhookLeaseExpiryWorker } from "./webhookLeaseExpiryWorker.ts";

interface WebhookDeliveryWorkerOptions
  extends Omit<
    WebhookDeliveryDependencies,
    keyof Dependencies | "stopping" | "abandoned" | "mappedOf" | "deliveryGate" | "blockedDestinations"
  > {
  readonly deps: Dependencies;
  /** Called once when an endpoint becomes blocked: its host name resolves to an address that is not public. */
  readonly onBlockedDestination: (destination: BlockedDestination) => void;
  /** Concurrent calls to one endpoint. */
  readonly callsPerEndpointMax: number;
  readonly isCaughtUp: DeliveryGateOptions["isCaughtUp"];
}

/** Concurrent calls, to all endpoints together. */
const IN_FLIGHT_MAX = 1_000;
/**
 * Calls that begin in one turn of the event loop. Bun gives all TLS handshakes together five steps a turn, the newest
 * first: if a whole backlog began at once, its first calls would finish last, and too late.
 */
const BEGINNINGS_PER_TURN_MAX = 4;
const NO_PERMIT: WorkPermit = { release: () => {} };

/** Delivers pending webhooks: many calls at once, few to each endpoint, each under a claim of its own. */
export class WebhookDeliveryWorker {
  private readonly delivery: WebhookDeliveryDependencies;
  private readonly scheduler: ClaimScheduler<WebhookDeliveryRow, WorkPermit>;
  private readonly bulkhead: EndpointBulkhead;
  private begunThisTurn = 0;
  private readonly expiry: PeriodicWorker;
  private readonly stopping = new AbortController();
  private readonly abandoned = new AbortController();
  private running: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: WebhookDeliveryWorkerOptions) {
    const { deps } = options;
    const { clock } = deps;
    const stopping = this.stopping.signal;
    const mappedOf = payloadCache((origin) => mapToWebhookEvent(deps, origin));
    const deliveryGate = new DeliveryGate({ ...deps, isCaughtUp: options.isCaughtUp, stopping });
    const blockedDestinations = new BlockedDestinationReports(options.onBlockedDestination);
    const abandoned = this.abandoned.signal;
    const made = { deliveryGate, mappedOf, blockedDestinations, stopping, abandoned };
    this.delivery = { ...deps, ...options, ...made };
    const read = rowReader(options.deliveries, options.onTrouble);
    this.bulkhead = new EndpointBulkhead(clock, options.callsPerEndpointMax);
    this.expiry = webhookLeaseExpiryWorker({
      deps: this.delivery,
      isInFlight: (id) => this.scheduler.isInFlight(id),
      onClockSkewed: (rows) => this.scheduler.offer(rows),
    });
    this.scheduler = new ClaimScheduler({
      clock,
      isLogShared: options.isLogShared,
      random: options.random,
      stopping,
      onTrouble: options.onTrouble,
      inFlightMax: IN_FLIGHT_MAX,
      ready: (now, without, limit) => {
        const items = read((db) => readyWebhooks(db, now, [...without], limit)) ?? [];
        return { items, more: items.length === limit ? "afterThese" : "none" };
      },
      nextReadyAt: (now) => read((db) => nextWebhookReadyAt(db, now)),
      acquire: () => (this.mayBegin() ? NO_PERMIT : null),
      ownersOf: ({ endpointId }) => [endpointId],
      admits: (endpointId) => this.bulkhead.admit(endpointId),
      handle: (row) => this.handle(row),
    });
  }

  get inFlightCount(): number {
    return this.scheduler.inFlightCount;
  }

  start(): void {
    this.running = this.scheduler.run();
    this.expiry.start();
  }

  /** The read model has moved. */
  wake(): void {
    this.scheduler.wake();
  }

  /** Claims nothing more, and waits up to `graceMs` for the calls in flight. */
  async stop(graceMs: number): Promise<void> {
    this.stopping.abort();
    const ended = Promise.all([this.running, this.expiry.stop()]);
    await settleWithin<unknown>(graceMs, ended, () => this.abandoned.abort());
  }

  /** Whether one more call may begin in this turn of the event loop; if not, the next turn looks again. */
  private mayBegin(): boolean {
    if (!this.delivery.deliveryGate.isOpen) return false;
    return this.begunThisTurn < BEGINNINGS_PER_TURN_MAX && hasDiskForClaims(this.options.deps);
  }

  private countBeginning(): void {
    this.begunThisTurn += 1;
    if (this.begunThisTurn < BEGINNINGS_PER_TURN_MAX) return;
    setImmediate(() => {
      this.begunThisTurn = 0;
      this.scheduler.wakeWaiting();
    });
  }

  private async handle(row: WebhookDeliveryRow): Promise<number | null> {
    this.countBeginning();
    const endCall = this.bulkhead.beginCall(row.endpointId);
    let gotThrough: boolean | null = null;
    try {
      const report = await deliverWebhook(this.delivery, row);
      ({ gotThrough } = report);
      return report.revision;
    } finally {
      for (const endpointId of endCall(gotThrough)) this.scheduler.release(endpointId);
    }
  }
}
