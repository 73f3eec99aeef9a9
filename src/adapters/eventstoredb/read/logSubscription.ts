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
import { makeMatcher, serverFilter } from "./logFilters.ts";

/** One batch holds at most this many events, and spans at most this much of the log. */
const BATCH_EVENTS_MAX = 512;
const BATCH_LOG_BYTES_MAX = 4n * 1_024n * 1_024n;
/** How long a batch that is not full waits for the next events while we catch up. */
const CATCH_UP_LINGER_MS = 2;
/** How long the first event of a batch waits for others at the head. */
const LIVE_LINGER_MS = 10;
/** Events that wait in memory between the connection and the reader: past that, the server has to wait. */
const BUFFER_EVENTS_MAX = 32;

/** What the server says about the subscription, put in line with the events that came before it. */
type Notice =
  | { readonly notice: "caughtUp" | "fellBehind" }
  | { readonly notice: "checkpoint"; readonly position: VendorPosition };
type Item = AllStreamResolvedEvent | Notice;

/** Where the reader is, and what it wants. */
export interface LogReading {
  readonly from: Position;
  readonly filter: LogFilter;
  readonly signal: AbortSignal;
}

export interface LogSubscriptionOptions extends LogReading {
  /** The reader's position once the server says that it has caught up: a head read before it began. */
  readonly head?: Position;
  readonly searchWindow: number;
}

/**
 * One subscription to the log, read by pulling: what is not pulled stays with the server. It ends with the
 * first failure; whoever needs more opens another one at the last position.
 */
export class LogSubscription {
  private readonly source: AllStreamSubscription;
  private readonly isWanted: ReturnType<typeof makeMatcher>;
  private failure: Error | null = null;
  private isAwake = false;
  private resume: () => void = () => {};
  private readonly abort = () => this.fail(new Error("the reader has left"));
  private position: Position;
  private isLive = false;
  private hasLingered = false;

  constructor(
    client: EventStoreDBClient,
    private readonly options: LogSubscriptionOptions,
  ) {
    const { from, filter, searchWindow, signal } = options;
    this.position = from;
    this.isWanted = makeMatcher(filter);
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
    // A lost server shows as any of these three, sometimes only as the last.
    this.source.on("error", (error) => this.fail(error));
    this.source.on("end", () => this.fail(new Error("the server ended the subscription")));
    this.source.on("close", () => this.fail(new Error("the subscription was closed")));
    signal.addEventListener("abort", this.abort);
    if (signal.aborted) this.abort();
  }

  /**
   * What has arrived, as soon as there is something. Throws when the subscription has broken, and
   * {@link AttemptTimedOutError} when nothing comes for `idleMs`.
   */
  async next(idleMs?: number): Promise<LogBatch> {
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

  /** Waits for news; false when none came for `timeMs`. */
  private more(timeMs?: number): Promise<boolean> {
    if (this.isAwake) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = timeMs === undefined ? undefined : setTimeout(() => resolve(false), timeMs);
      this.resume = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }

  /** What is there, up to the bounds of a batch; up to the notice when the server says that we caught up. */
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

  /** While we catch up a batch may wait to be filled. At the head it lingers once: news one by one cost too much. */
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

  /** Moves on to `position`; false when we have been there already. */
  private moveTo(position: Position): boolean {
    if (position <= this.position) return false;
    this.position = position;
    return true;
  }
}

/** Whether the events so far span all of the log that one batch may: what they take in memory is less. */
function isFull(items: readonly Item[]): boolean {
  const first = items.find(isEvent);
  const last = items.at(-1);
  if (!first || !last || !isEvent(last)) return false;
  return last.event.position.commit - first.event.position.commit > BATCH_LOG_BYTES_MAX;
}

function isEvent(item: Item): item is AllStreamResolvedEvent & { readonly event: AllStreamRecordedEvent } {
  return "event" in item && item.event !== undefined;
}

/** An event that a subscription to the log has brought, as the port knows it. */
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

function plainBytes(bytes: Uint8Array): Uint8Array {
  return Buffer.isBuffer(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length) : bytes;
}

function isJson(metadata: unknown): metadata is JsonObject {
  return typeof metadata === "object" && metadata !== null && !(metadata instanceof Uint8Array);
}
