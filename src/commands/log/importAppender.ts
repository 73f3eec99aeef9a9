import { EVENT_ERASED } from "../../kernel/event/storeLocalEvents.ts";
import { eventErasedId } from "../../kernel/ids.ts";
import type { JsonObject } from "../../kernel/text/json.ts";
import {
  type AppendResult,
  type EventStore,
  LOG_START,
  type NewEvent,
  type Position,
} from "../../ports/eventStore.ts";
import { ExportError, type ExportedEvent, type ExportHeader, type MissingRevisions } from "./exportFormat.ts";

/** Consecutive events of one stream go as one append, up to these bounds. */
const APPEND_EVENTS_MAX = 500;
const APPEND_BYTES_MAX = 256_000;
/** Appends under way, and their bytes. */
const UNDER_WAY_MAX = 256;
const UNDER_WAY_BYTES_MAX = 8_000_000;
const TRUNCATIONS_MAX = 32;
/** One append may wait behind all others that are under way. */
const APPEND_TIMEOUT_MS = 60_000;
/** What a placeholder takes, about. */
const PLACEHOLDER_BYTES = 200;

/** Consecutive events of one stream. */
interface Chunk {
  readonly stream: string;
  /** The revision of the first. */
  readonly first: number;
  readonly events: NewEvent[];
  bytes: number;
  /** Whether it holds nothing but placeholders: those may be there from an earlier run, or be cut off already. */
  isPlaceholders: boolean;
  /** What is to be cut off once it is written. */
  truncateBefore: number | null;
}

interface UnderWay {
  readonly chunk: Chunk;
  readonly result: Promise<AppendResult>;
}

/**
 * Writes a log in its order, many appends under way at once. That the store keeps their order is not taken on trust:
 * the position of each must come after that of the one before. Every method throws {@link ExportError} and
 * `StoreError`, also for what was given before.
 */
export class ImportAppender {
  private chunk: Chunk | null = null;
  private readonly underWay: UnderWay[] = [];
  private bytesUnderWay = 0;
  private readonly truncating = new Set<Promise<void>>();
  private truncationFailure: unknown = null;
  private position: Position = LOG_START;

  constructor(
    private readonly store: EventStore,
    private readonly header: Pick<ExportHeader, "logId" | "exportId" | "exportedAt">,
  ) {}

  /** `bytes`: at least what its data and metadata take. */
  async addEvent({ stream, revision, ...event }: ExportedEvent, bytes: number): Promise<void> {
    const chunk = await this.chunkFor(stream, revision, bytes);
    chunk.events.push(event);
    chunk.isPlaceholders = false;
  }

  /**
   * Puts placeholders where events are missing and cuts them off again; only cuts them off where they `areThere`. What
   * was cut off while it was exported has events before it that are in the export: {@link finish} leaves that to
   * {@link cutOff}, after they were compared.
   */
  async addMissing({ stream, from, through }: MissingRevisions, areThere: boolean): Promise<void> {
    if (areThere) return from > 0 ? undefined : this.truncate(stream, through + 1);
    for (let revision = from; revision <= through; revision += 1) {
      const chunk = await this.chunkFor(stream, revision, PLACEHOLDER_BYTES);
      chunk.events.push(this.placeholder(stream, revision));
      if (revision === through && from === 0) chunk.truncateBefore = through + 1;
    }
  }

  /** Settles when all is written and cut off. */
  async finish(): Promise<void> {
    await this.send();
    while (this.underWay.length > 0) await this.settleOldest();
    await Promise.all(this.truncating);
    this.requireTruncated();
  }

  /** Cuts off what was cut off while the log was exported. */
  async cutOff({ stream, through }: MissingRevisions): Promise<void> {
    await this.truncate(stream, through + 1);
  }

  /** The chunk that takes the next event of a stream; another one is sent first. */
  private async chunkFor(stream: string, revision: number, bytes: number): Promise<Chunk> {
    const { chunk } = this;
    const isNext = chunk?.stream === stream && chunk.first + chunk.events.length === revision;
    const hasRoom =
      chunk && chunk.events.length < APPEND_EVENTS_MAX && chunk.bytes + bytes <= APPEND_BYTES_MAX;
    if (isNext && hasRoom) {
      chunk.bytes += bytes;
      return chunk;
    }
    await this.send();
    this.chunk = { stream, first: revision, events: [], bytes, isPlaceholders: true, truncateBefore: null };
    return this.chunk;
  }

  private placeholder(stream: string, revision: number): NewEvent {
    const { logId, exportId, exportedAt } = this.header;
    const metadata: JsonObject = { schema: 1, at: exportedAt, correlationId: exportId, actor: "system" };
    return { id: eventErasedId(logId, stream, revision), type: EVENT_ERASED, data: {}, metadata };
  }

  private async send(): Promise<void> {
    const { chunk } = this;
    if (chunk === null) return;
    this.chunk = null;
    const isFull = () => this.underWay.length >= UNDER_WAY_MAX || this.bytesUnderWay >= UNDER_WAY_BYTES_MAX;
    while (isFull()) await this.settleOldest();
    const { stream, first, events, bytes } = chunk;
    const expected = first === 0 ? "noStream" : first - 1;
    const result = this.store.append(stream, events, expected, { timeoutMs: APPEND_TIMEOUT_MS });
    // Looked at in its turn; until then a failure is nobody's.
    result.catch(() => {});
    this.underWay.push({ chunk, result });
    this.bytesUnderWay += bytes;
  }

  private async settleOldest(): Promise<void> {
    const oldest = this.underWay.shift();
    if (oldest === undefined) return;
    const { chunk, result } = oldest;
    this.bytesUnderWay -= chunk.bytes;
    this.check(chunk, await result);
    if (chunk.truncateBefore !== null) await this.truncate(chunk.stream, chunk.truncateBefore);
  }

  private check({ stream, first, events, isPlaceholders }: Chunk, result: AppendResult): void {
    const last = first + events.length - 1;
    if (result.outcome === "appended") {
      const isInOrder = result.position > this.position && result.revision === last;
      if (!isInOrder)
        throw new ExportError(`the store did not keep the order of the log at ${stream}: empty it`);
      this.position = result.position;
    } else if (!isPlaceholders || (result.actual ?? -1) < last) {
      throw new ExportError(
        `the last revision of ${stream} in the store is not ${first - 1}: empty the store`,
      );
    }
  }

  private async truncate(stream: string, before: number): Promise<void> {
    while (this.truncating.size >= TRUNCATIONS_MAX) await Promise.race(this.truncating);
    this.requireTruncated();
    const truncated = this.store
      .truncateBefore(stream, before, { timeoutMs: APPEND_TIMEOUT_MS })
      .catch((error: unknown) => {
        this.truncationFailure ??= error;
      })
      .finally(() => this.truncating.delete(truncated));
    this.truncating.add(truncated);
  }

  private requireTruncated(): void {
    if (this.truncationFailure !== null) throw this.truncationFailure;
  }
}
