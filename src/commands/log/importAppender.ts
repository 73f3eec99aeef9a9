import { EVENT_ERASED } from "../../domain/logImport/events.ts";
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

/** Consecutive events of one stream share an append, up to these bounds. */
const APPEND_EVENTS_MAX = 500;
const APPEND_BYTES_MAX = 256_000;
/** Appends in flight, and their bytes. */
const UNDER_WAY_MAX = 256;
const UNDER_WAY_BYTES_MAX = 8_000_000;
const TRUNCATIONS_MAX = 32;
/** One append may wait behind all others in flight. */
const APPEND_TIMEOUT_MS = 60_000;
/** The approximate size of a placeholder. */
const PLACEHOLDER_BYTES = 200;

/** Consecutive events of one stream. */
interface Chunk {
  readonly stream: string;
  /** The revision of the first. */
  readonly first: number;
  readonly events: NewEvent[];
  bytes: number;
  /** Whether it holds only placeholders: an earlier run may have written or even truncated those. */
  isPlaceholders: boolean;
  /** Where to truncate the stream once the chunk is written. */
  truncateBefore: number | null;
}

interface UnderWay {
  readonly chunk: Chunk;
  readonly result: Promise<AppendResult>;
}

/**
 * Writes a log in its order, with many appends in flight. It does not trust the store to keep their order: the position
 * of each must come after that of the one before. Every method throws {@link ExportError} and `StoreError`, also for
 * events given to earlier calls.
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

  /** `bytes`: at least the size of its data and metadata. */
  async addEvent({ stream, revision, ...event }: ExportedEvent, bytes: number): Promise<void> {
    const chunk = await this.chunkFor(stream, revision, bytes);
    chunk.events.push(event);
    chunk.isPlaceholders = false;
  }

  /**
   * Writes placeholders for missing events and truncates them again; if they `areThere`, only truncates. A gap that arose
   * during the export has exported events before it, which are compared first: {@link cutOff} truncates those later.
   */
  async addMissing({ stream, from, through }: MissingRevisions, areThere: boolean): Promise<void> {
    if (areThere) return from > 0 ? undefined : this.truncate(stream, through + 1);
    for (let revision = from; revision <= through; revision += 1) {
      const chunk = await this.chunkFor(stream, revision, PLACEHOLDER_BYTES);
      chunk.events.push(this.placeholder(stream, revision));
      if (revision === through && from === 0) chunk.truncateBefore = through + 1;
    }
  }

  /** Resolves when everything is written and truncated. */
  async finish(): Promise<void> {
    await this.send();
    while (this.underWay.length > 0) await this.settleOldest();
    await Promise.all(this.truncating);
    this.requireTruncated();
  }

  /** Truncates a gap that arose while the log was exported. */
  async cutOff({ stream, through }: MissingRevisions): Promise<void> {
    await this.truncate(stream, through + 1);
  }

  /** The chunk for the next event of a stream. Sends the current one first if the event does not fit there. */
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
    // A failure is handled in its turn; until then it must not count as unhandled.
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
