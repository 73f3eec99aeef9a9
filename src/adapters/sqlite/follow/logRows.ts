import type { DatabaseSync } from "node:sqlite";
import { isObject, type JsonObject, parseJson } from "../../../kernel/text/json.ts";
import type { RecordedEvent, StreamReader } from "../../../ports/eventStore.ts";
import { LogReader } from "../logReader.ts";

/** A row of `events` as it is stored; `id`, `type`, `metadata` and `data` are empty in a truncated event. */
export interface EventRow {
  readonly position: number;
  /** The id of its row in `streams`. */
  readonly stream: number;
  readonly revision: number;
  readonly id: string;
  readonly type: string;
  readonly metadata: string;
  readonly data: string | Uint8Array;
}

/** A row of `streams`, without its last revision, which may be beyond the events at hand. */
export interface StreamRow {
  readonly id: number;
  readonly name: string;
  readonly truncate_before: number;
}

/** Some events in the order of the log, and the rows of their streams at the same instant. */
export interface LogPage {
  readonly events: readonly EventRow[];
  readonly streams: readonly StreamRow[];
}

/** The events of a page that are of these types, without their data. */
export function eventsOfTypes(
  { events, streams }: LogPage,
  types: readonly string[],
): readonly Pick<RecordedEvent, "stream" | "type" | "id" | "metadata">[] {
  const names = new Map(streams.map(({ id, name }) => [id, name]));
  return events
    .filter(({ type }) => types.includes(type))
    .map(({ stream, type, id, metadata }) => {
      const parsed = parseJson(metadata);
      return {
        stream: names.get(stream) ?? "",
        type,
        id,
        metadata: isObject(parsed) ? (parsed as JsonObject) : {},
      };
    });
}

/** What identifies an event. */
export interface EventMark {
  readonly position: number;
  readonly stream: string;
  readonly revision: number;
  /** Empty once the event is truncated. */
  readonly id: string;
}

const MARK =
  "SELECT e.position, s.name AS stream, e.revision, e.id FROM events e JOIN streams s ON s.id = e.stream";

/** What can be asked of a log and of its copy alike. */
export abstract class LogRows implements Disposable {
  protected constructor(
    protected readonly path: string,
    protected readonly db: DatabaseSync,
  ) {}

  /** Runs `work`, and turns what it throws into a `StoreError` that names the file. */
  protected abstract read<Result>(work: () => Result): Result;

  /** The position of the last event; 0 in an empty log. */
  head(): number {
    return this.read(() => new LogReader(this.db).head());
  }

  /** The event at a position; null if there is none. */
  markAt(position: number): EventMark | null {
    const found = this.read(() => this.db.prepare(`${MARK} WHERE e.position = ?`).get(position));
    return (found as unknown as EventMark | undefined) ?? null;
  }

  /** The first and the last event of a stream up to a position; none before the stream was written. */
  endsOfStream(name: string, until: number): readonly EventMark[] {
    const end = (order: string) =>
      `${MARK} WHERE s.name = ? AND e.position <= ? ORDER BY e.revision ${order} LIMIT 1`;
    const found = this.read(() =>
      [end("ASC"), end("DESC")].map((sql) => this.db.prepare(sql).get(name, until)),
    );
    return found.filter((mark) => mark !== undefined) as unknown as readonly EventMark[];
  }

  /** Reads single streams, until this is closed. */
  streams(): StreamReader {
    const reader = new LogReader(this.db);
    return { read: async (stream, from, max) => this.read(() => reader.stream(stream, from, max)) };
  }

  [Symbol.dispose](): void {
    this.db.close();
  }
}

/** Runs `work`, which only reads, on one snapshot, whatever others commit meanwhile. */
export function inSnapshot<Result>(db: DatabaseSync, work: () => Result): Result {
  db.exec("BEGIN");
  try {
    return work();
  } finally {
    // A commit would report damage that `work` has met once more.
    db.exec("ROLLBACK");
  }
}
