import {
  failingEndpoints,
  leasedWebhooks,
  nextWebhookReadyAt,
  readyWebhooks,
  type WebhookDeliveryRow,
} from "../../../projections/webhookDeliveries/queries.ts";
import { disableFailedEndpoint } from "../../commands/webhook/manageWebhooks.ts";
import { expireWebhookLease, readWebhookDelivery } from "../../commands/webhookDelivery/webhookAttempts.ts";
import { mapToWebhookEvent } from "../../commands/webhookDelivery/webhookPayload.ts";
import { FAILING_RULE } from "../../domain/webhook/failingEndpoints.ts";
import { rfc3339 } from "../../kernel/time.ts";
import { StoreError } from "../../ports/eventStore.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { SendGate, type SendGateOptions } from "../instance/sendGate.ts";
import { type AbortableSleep, abortableSleep } from "../worker/abortableSleep.ts";
import { ClaimScheduler, type WorkPermit } from "../worker/claimScheduler.ts";
import { ExpiredLeases } from "../worker/expiredLeases.ts";
import { readRows } from "../worker/readRows.ts";
import { type RowBackoff, rowBackoff } from "../worker/rowBackoff.ts";
import { deliverWebhook, recordingOf, type WebhookContext } from "./deliverWebhook.ts";
import { EndpointBulkhead } from "./endpointBulkhead.ts";
import { payloadCache } from "./payloadCache.ts";

export interface WebhookDeliveryOptions
  extends Omit<WebhookContext, "stopping" | "abandoned" | "mappedOf" | "sendGate"> {
  /** The read model `webhook-deliveries`. */
  readonly deliveries: ReadDatabase;
  /** Waits for a moment until it holds what is in the log now; false when it does not. */
  readonly waitUntilCaughtUp: () => Promise<boolean>;
  /** See {@link SendGateOptions.isCaughtUp}. */
  readonly isCaughtUp: SendGateOptions["isCaughtUp"];
}

/** Calls under way at once, to all endpoints together. */
const IN_FLIGHT_MAX = 1_000;
/**
 * Calls that begin in one turn of the event loop. Bun gives all TLS handshakes together five steps a turn, the
 * newest first: of a backlog that began all at once the first calls would be the last, and too late.
 */
const BEGINNINGS_PER_TURN_MAX = 4;
/** Claims that are watched: more than all instances together are likely to have. */
const LEASED_MAX = 10_000;
/** Failing endpoints that one look disables. */
const FAILING_MAX = 1_000;
const HOUSEKEEPING_MS = 250;
/** Endpoints that nothing gets through to are looked for this often. */
const FAILING_LOOK_MS = 60_000;

const NO_PERMIT: WorkPermit = { release: () => {} };

/** Delivers what is pending for endpoints: many calls at once, few to each endpoint, each under a claim of its own. */
export class WebhookDelivery {
  private readonly context: WebhookContext;
  private readonly scheduler: ClaimScheduler<WebhookDeliveryRow, WorkPermit>;
  private readonly bulkhead: EndpointBulkhead;
  private begunThisTurn = 0;
  private readonly leases: ExpiredLeases;
  private readonly housekeepingSleep: AbortableSleep;
  /** Of deliveries whose lease could not be ended. */
  private readonly backoff: RowBackoff;
  private readonly stopping = new AbortController();
  private readonly abandoned = new AbortController();
  private running: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: WebhookDeliveryOptions) {
    const { clock } = options.deps;
    const stopping = this.stopping.signal;
    const mappedOf = payloadCache((origin) => mapToWebhookEvent(options.deps, origin));
    const sendGate = new SendGate({ ...options.deps, isCaughtUp: options.isCaughtUp });
    this.context = { ...options, sendGate, mappedOf, stopping, abandoned: this.abandoned.signal };
    this.bulkhead = new EndpointBulkhead(clock);
    this.leases = new ExpiredLeases(clock);
    this.housekeepingSleep = abortableSleep(stopping);
    this.backoff = rowBackoff(clock);
    this.scheduler = new ClaimScheduler({
      clock,
      random: options.random,
      stopping,
      onTrouble: options.onTrouble,
      inFlightMax: IN_FLIGHT_MAX,
      ready: (now, without, limit) => {
        const items = this.read((db) => readyWebhooks(db, now, [...without], limit)) ?? [];
        return { items, more: items.length === limit ? "afterThese" : "none" };
      },
      nextReadyAt: (now) => this.read((db) => nextWebhookReadyAt(db, now)),
      acquire: () => (this.mayBegin() ? NO_PERMIT : null),
      ownersOf: ({ endpointId }) => [endpointId],
      admission: {
        ownerOf: ({ endpointId }) => endpointId,
        admits: ({ endpointId }) => this.bulkhead.admit(endpointId),
      },
      handle: (row) => this.handle(row),
    });
  }

  /** Deliveries that are under way here. */
  get inFlightCount(): number {
    return this.scheduler.inFlightCount;
  }

  start(): void {
    this.running = Promise.all([this.scheduler.run(), this.keepHouse()]);
  }

  /** The read model has moved. */
  wake(): void {
    this.scheduler.wake();
  }

  /** Claims nothing more, and waits for the calls under way until `graceMs` have passed. */
  async stop(graceMs: number): Promise<void> {
    this.stopping.abort();
    const timer = setTimeout(() => this.abandoned.abort(), graceMs);
    const overdue = new Promise((resolve) => this.abandoned.signal.addEventListener("abort", resolve));
    await Promise.race([this.running, overdue]);
    clearTimeout(timer);
  }

  /** Whether one more call may begin in this turn of the event loop; if not, the next turn looks again. */
  private mayBegin(): boolean {
    const { disk, diskFreeBytesMin } = this.options.deps;
    if (!this.context.sendGate.isOpen) return false;
    // Below half of the disk's minimum no claim is made: outcomes must still find room.
    return this.begunThisTurn < BEGINNINGS_PER_TURN_MAX && disk.freeBytes() >= diskFreeBytesMin / 2;
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
      const report = await deliverWebhook(this.context, row);
      ({ gotThrough } = report);
      return report.revision;
    } finally {
      for (const endpointId of endCall(gotThrough)) this.scheduler.release(endpointId);
    }
  }

  /** What the read model says; null while it cannot be read or is damaged: its follower sees to that. */
  private read<Result>(query: (db: ReadDatabase) => Result): Result | null {
    return readRows(() => query(this.options.deliveries), this.options.onTrouble);
  }

  /** Ends leases that ran out, and disables endpoints that nothing gets through to. */
  private async keepHouse(): Promise<void> {
    let lookedAt = Number.NEGATIVE_INFINITY;
    while (!this.stopping.signal.aborted) {
      try {
        if (await this.context.sendGate.ask()) await this.endLeases();
        const now = this.context.deps.clock.monotonicMs();
        if (this.context.sendGate.isOpen && now - lookedAt >= FAILING_LOOK_MS) {
          lookedAt = now;
          await this.disableFailing();
        }
      } catch (error) {
        this.options.onTrouble(error, "");
      }
      await this.housekeepingSleep.sleep(HOUSEKEEPING_MS);
    }
  }

  private async endLeases(): Promise<void> {
    const { store } = this.context.deps;
    const leased = this.read((db) => leasedWebhooks(db, LEASED_MAX)) ?? [];
    const backingOff = new Set(this.backoff.busy());
    for (const { id, attempt } of this.leases.expired(leased)) {
      // What we are at ourselves has not been lost.
      if (this.scheduler.isInFlight(id) || backingOff.has(id)) continue;
      try {
        const { state } = await readWebhookDelivery(store, id);
        if (state === null) continue;
        await expireWebhookLease(store, id, attempt, recordingOf(this.context, state.origin.workspaceId));
      } catch (error) {
        if (error instanceof StoreError) throw error;
        // One that cannot be read must not keep the others waiting.
        this.backoff.failed(id);
        this.options.onTrouble(error, id);
      }
    }
  }

  private async disableFailing(): Promise<void> {
    const { deps } = this.context;
    // A read model that is behind has not seen yet what got through since.
    if (!(await this.options.waitUntilCaughtUp())) return;
    const since = deps.clock.now() - FAILING_RULE.durationMs;
    const { instance } = await deps.instanceStatus.get();
    // Nobody was called while the log stood still, and what got through elsewhere meanwhile is not known here.
    if (instance?.downtimes.some(({ to }) => to === null || to > since)) return;
    const before = rfc3339(since);
    const failing =
      this.read((db) => failingEndpoints(db, before, FAILING_RULE.failuresMin, FAILING_MAX)) ?? [];
    for (const { workspaceId, endpointId } of failing) {
      const { context } = recordingOf(this.context, workspaceId);
      const isNews = await disableFailedEndpoint(deps, { workspaceId, endpointId }, "failing", context);
      if (isNews) this.options.onDisabled({ workspaceId, endpointId, reason: "failing" });
    }
  }
}
