import type {
  AllStreamRecordedEvent,
  AllStreamResolvedEvent,
  AllStreamSubscription,
  EventStoreDBClient,
  Position as VendorPosition,
} from "@eventstore/db-client";
import type { JsonObject } from "../../../kernel/text/json.ts";
import type { LogBatch, LogFilter, Position, RecordedEvent } from "../../../ports/eventStore.ts";
import { AttemptTimedOutError } from "../deadline.ts";
import { checkpointText, positionText, vendorPosition } from "../positions.ts";
import { createMatcher, type IsOwnEvent, serverFilter } from "./logFilters.ts";
import { plainBytes } from "./readFormat.ts";

/** One batch holds at most this many events and spans at most this much of the log. */
const BATCH_EVENTS_MAX = 512;
const BATCH_LOG_BYTES_MAX = 4n * 1_024n * 1_024n;
/** How long a batch that is not full waits for more events while we catch up. */
const CATCH_UP_LINGER_MS = 2;
/** How long the first event of a batch at the head waits for others. */
const LIVE_LINGER_MS = 10;
/** How many events to buffer between the connection and the reader; beyond that, the server has to wait. */
const BUFFER_EVENTS_MAX = 32;

/** What the server says about the subscription, queued after the events that came before it. */
type Notice =
  | { readonly notice: "caughtUp" | "fellBehind" }
  | { readonly notice: "checkpoint"; readonly position: VendorPosition };
type Item = AllStreamResolvedEvent | Notice;

/** Where the reader is, and what it wants. */
export interface LogReading {
  readonly from: Position;
  readonly filter: LogFilter;
  /** Absent: every event is. */
  readonly isOwn?: IsOwnEvent | undefined;
  readonly signal: AbortSignal;
}

export interface AllSubscriptionOptions extends LogReading {
  /** The head before the subscription began: the reader's position once the server says that it has caught up. */
  readonly head?: Position;
  readonly searchWindow: number;
}

/**
 * One of the vendor's subscriptions to `$all`, which the reader pulls from; the rest stays with the server. It ends at
 * the first failure; a reader that needs more opens another one at its last position.
 */
export class AllSubscription {
  private readonly source: AllStreamSubscription;
  private readonly isWanted: ReturnType<typeof createMatcher>;
  private failure: Error | null = null;
  private isAwake = false;
  private resume: () => void = () => {};
  private readonly abort = () => this.fail(new Error("the reader has left"));
  private position: Position;
  private isLive = false;
  private hasLingered = false;

  constructor(
    client: EventStoreDBClient,
    private readonly options: AllSubscriptionOptions,
  ) {
    const { from, filter, isOwn, searchWindow, signal } = options;
    this.position = from;
    this.isWanted = createMatcher(filter, isOwn);
    this.source = client.subscribeToAll(
      {
        fromPosition: vendorPosition(from),
        requiresLeader: true,
        filter: serverFilter(filter, {
          searchWindow,
          onCheckpoint: (source, position) => void source.push({ notice: "checkpoint", position }),
        }),
      },
      { highWaterMark: BUFFER_EVENTS_MAX },
    );
    this.source.on("caughtUp", () => this.source.push({ notice: "caughtUp" }));
    this.source.on("fellBehind", () => this.source.push({ notice: "fellBehind" }));
    this.source.on("readable", () => this.wake());
    // The loss of the server shows as any of these three, sometimes only as the last.
    this.source.on("error", (error) => this.fail(error));
    this.source.on("end", () => this.fail(new Error("the server ended the subscription")));
    this.source.on("close", () => this.fail(new Error("the subscription was closed")));
    signal.addEventListener("abort", this.abort);
    if (signal.aborted) this.abort();
  }

  /**
   * The next batch, as soon as something arrives. Throws when the subscription breaks, and {@link AttemptTimedOutError}
   * when nothing arrives for `idleMs`.
   */
  async next(idleMs: number): Promise<LogBatch> {
    for (;;) {
      const { items, isDrained } = await this.take();
      if (items.length > 0) return this.batchOf(items, isDrained);
      if (this.failure) throw this.failure;
      if (!(await this.more(idleMs))) throw new AttemptTimedOutError(`nothing came for ${idleMs} ms`);
    }
  }

  close(): void {
    this.options.signal.removeEventListener("abort", this.abort);
    this.source.unsubscribe().catch(() => {});
    this.source.destroy();
  }

  private fail(error: Error): void {
    this.failure ??= error;
    this.wake();
  }

  private wake(): void {
    this.isAwake = true;
    this.resume();
  }

  /** Waits for items; false if none arrive for `timeMs`. */
  private more(timeMs: number): Promise<boolean> {
    if (this.isAwake) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), timeMs);
      this.resume = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }

  /** Takes the available items, up to the limits of a batch or to the notice that we have caught up. */
  private async take(): Promise<{ readonly items: readonly Item[]; readonly isDrained: boolean }> {
    const items: Item[] = [];
    this.hasLingered = false;
    while (items.length < BATCH_EVENTS_MAX && !isFull(items)) {
      this.isAwake = false;
      const item = this.source.read() as Item | null;
      if (item !== null) {
        items.push(item);
        if ("notice" in item && item.notice === "caughtUp") return { items, isDrained: true };
      } else if (items.length === 0 || this.failure || !(await this.refill())) {
        return { items, isDrained: true };
      }
    }
    return { items, isDrained: this.source.readableLength === 0 };
  }

  /** Waits for more items. While we catch up, it does until the batch is full; at the head, only once per batch. */
  private async refill(): Promise<boolean> {
    if (!this.isLive) return this.more(CATCH_UP_LINGER_MS);
    if (this.hasLingered) return false;
    this.hasLingered = true;
    await Bun.sleep(LIVE_LINGER_MS);
    return this.source.readableLength > 0;
  }

  private batchOf(items: readonly Item[], isDrained: boolean): LogBatch {
    const events: RecordedEvent[] = [];
    for (const item of items) {
      if (!isEvent(item)) this.note(item);
      else if (this.moveTo(positionText(item.event.position)) && this.isWanted(item.event)) {
        events.push(decodeEvent(item.event));
      }
    }
    return { events, position: this.position, caughtUp: this.isLive && isDrained };
  }

  private note(item: Item): void {
    if (!("notice" in item)) return;
    if (item.notice === "checkpoint") {
      this.moveTo(checkpointText(item.position));
      return;
    }
    this.isLive = item.notice === "caughtUp";
    if (this.isLive && this.options.head) this.moveTo(this.options.head);
  }

  /** Moves forward to `position`; false if we are already there or past it. */
  private moveTo(position: Position): boolean {
    if (position <= this.position) return false;
    this.position = position;
    return true;
  }
}

/** Whether the events already span as much of the log as one batch may. They take less memory than that. */
function isFull(items: readonly Item[]): boolean {
  const first = items.find(isEvent);
  const last = items.at(-1);
  if (!first || !last || !isEvent(last)) return false;
  return last.event.position.commit - first.event.position.commit > BATCH_LOG_BYTES_MAX;
}

function isEvent(item: Item): item is AllStreamResolvedEvent & { readonly event: AllStreamRecordedEvent } {
  return "event" in item && item.event !== undefined;
}

/** Converts an event of a subscription to the port's type. */
function decodeEvent(event: AllStreamRecordedEvent): RecordedEvent {
  const { streamId, revision, id, type, data, metadata } = event;
  if (!event.position) throw new TypeError(`the server gives no position with event ${id}: it is too old`);
  return {
    stream: streamId,
    revision: Number(revision),
    position: positionText(event.position),
    id,
    type,
    data: data instanceof Uint8Array ? plainBytes(data) : (data as object),
    metadata: isJson(metadata) ? metadata : {},
  };
}

function isJson(metadata: unknown): metadata is JsonObject {
  return typeof metadata === "object" && metadata !== null && !(metadata instanceof Uint8Array);
}
