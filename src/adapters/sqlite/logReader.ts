import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { JsonObject } from "../../kernel/text/json.ts";
import {
  APPEND_BYTES_MAX,
  type LogBatch,
  type LogFilter,
  type Position,
  type RecordedEvent,
  type Truncation,
} from "../../ports/eventStore.ts";
import { positionNumber, positionText } from "./logPosition.ts";

/** One batch holds at most this many events and looks at no more than this many positions. */
const BATCH_EVENTS_MAX = 1_000;
const BATCH_POSITIONS_MAX = 10_000;

/** A batch ends behind the event that takes it past this. */
const BATCH_BYTES_MAX = 16_000_000;
/** Far longer than any id or name of ours. */
const NAME_CHARS_MAX = 500;

/** What is longer than anything that we append is left where it is: no reader is to hold it in memory. */
const COLUMNS = `e.position, e.revision, substr(e.id, 1, ${NAME_CHARS_MAX}) AS id,
  substr(e.type, 1, ${NAME_CHARS_MAX}) AS type,
  CASE WHEN octet_length(e.metadata) <= ${APPEND_BYTES_MAX} THEN e.metadata END AS metadata,
  CASE WHEN octet_length(e.data) <= ${APPEND_BYTES_MAX} THEN e.data END AS data,
  octet_length(e.metadata) + octet_length(e.data) AS bytes`;
/**
 * One statement, which the index of names answers without the streams' rows: on a long log every page that is
 * looked at is another read of the file. No decision is taken on what is not between the ends of the log, where
 * nobody who reads the log as a whole comes past.
 */
const OF_STREAM = `SELECT ${COLUMNS} FROM events e WHERE e.stream = (SELECT id FROM streams WHERE name = ?)
  AND e.revision >= ? AND e.position BETWEEN 1 AND (SELECT head FROM log) AND e.type <> ''
  ORDER BY e.revision LIMIT ? + 0`;
const FROM = "FROM events e CROSS JOIN streams s ON s.id = e.stream";

const TRUNCATED = `SELECT id, name, truncate_before FROM streams WHERE truncate_before > 0 AND id > ?
  ORDER BY id LIMIT ? + 0`;

type Row = Readonly<Record<string, unknown>>;

/** The data of a row that was damaged: no codec takes it, so whoever needs the event stops there. */
const DAMAGED = new Uint8Array(0);

/** What a column holds as JSON; null when it holds none any more. */
function objectIn(column: unknown): JsonObject | null {
  if (typeof column !== "string") return null;
  try {
    const value: unknown = JSON.parse(column);
    return typeof value === "object" ? (value as JsonObject | null) : null;
  } catch {
    return null;
  }
}

function recorded(row: Row, stream = row.name as string): RecordedEvent {
  const data = row.data instanceof Uint8Array ? row.data : objectIn(row.data);
  const metadata = objectIn(row.metadata);
  return {
    stream,
    revision: row.revision as number,
    position: positionText(row.position as number),
    id: row.id as string,
    type: row.type as string,
    data: data === null || metadata === null ? DAMAGED : data,
    metadata: metadata ?? {},
  };
}

/** Reads the log on one connection. Every call is one statement or one short read transaction. */
export class LogReader {
  private readonly statements = new Map<string, StatementSync>();

  constructor(private readonly db: DatabaseSync) {}

  private prepare(sql: string): StatementSync {
    return this.statements.getOrInsertComputed(sql, () => this.db.prepare(sql));
  }

  stream(name: string, from: number, max: number): readonly RecordedEvent[] {
    return this.prepare(OF_STREAM)
      .all(name, from, max)
      .map((event) => recorded(event as Row, name));
  }

  lastRevision(name: string): number | null {
    const row = this.prepare("SELECT revision FROM streams WHERE name = ?").get(name);
    return row ? Number(row.revision) : null;
  }

  /** Throws for a head that somebody has made none: a reading up to it would have no end. */
  head(): number {
    const head = this.prepare("SELECT head FROM log").get()?.head;
    if (!Number.isSafeInteger(head)) throw new TypeError("the log's head is no position");
    return Number(head);
  }

  /** Some of the streams that were truncated, in the order of their ids, after `id`; `next` is null after the last. */
  truncations(id: number): { readonly page: readonly Truncation[]; readonly next: number | null } {
    const rows = this.prepare(TRUNCATED).all(id, BATCH_EVENTS_MAX);
    const page = rows.map((row) => ({ stream: String(row.name), before: Number(row.truncate_before) }));
    return { page, next: page.length < BATCH_EVENTS_MAX ? null : Number(rows.at(-1)?.id) };
  }

  /** Moves whenever another connection has committed. */
  dataVersion(): number {
    return Number(this.prepare("PRAGMA data_version").get()?.data_version);
  }

  /** Positions have no gaps; one that somebody has made is passed at once, however wide it is. */
  private beforeNext(position: number, until: number): number {
    const row = this.prepare("SELECT min(position) AS next FROM events WHERE position > ? AND position <= ?");
    const next = row.get(position, until)?.next ?? null;
    return next === null ? until : Number(next) - 1;
  }

  /** The next batch after `from`, never looking past `until`. */
  batch(from: Position, filter: LogFilter, until: number): LogBatch {
    const after = positionNumber(from);
    const last = Math.max(after, Math.min(until, after + BATCH_POSITIONS_MAX));
    const { where, values } = conditions(filter);
    const sql = `SELECT ${COLUMNS}, substr(s.name, 1, ${NAME_CHARS_MAX}) AS name ${FROM}
      WHERE e.position > ? AND e.position <= ? ${where} ORDER BY e.position LIMIT ${BATCH_EVENTS_MAX}`;
    const events: RecordedEvent[] = [];
    let bytes = 0;
    for (const row of this.prepare(sql).iterate(after, last, ...values)) {
      events.push(recorded(row as Row));
      bytes += Number(row.bytes);
      if (bytes >= BATCH_BYTES_MAX) break;
    }
    const isFull = events.length === BATCH_EVENTS_MAX || bytes >= BATCH_BYTES_MAX;
    let reached = isFull ? Number(events.at(-1)?.position) : last;
    if (events.length === 0 && last < until) reached = this.beforeNext(last, until);
    return {
      events,
      position: positionText(reached),
      caughtUp: reached >= until,
    };
  }
}

function conditions({ types, streamPrefixes }: LogFilter): { where: string; values: string[] } {
  // What is left of a truncated event has no type.
  const parts: string[] = types ? [] : ["AND e.type <> ''"];
  const values: string[] = [];
  if (types) {
    parts.push(`AND e.type IN (${types.map(() => "?").join(", ")})`);
    values.push(...types);
  }
  if (streamPrefixes) {
    const tests = streamPrefixes.map(() => "substr(s.name, 1, length(?)) = ?");
    parts.push(`AND (${tests.join(" OR ") || "0"})`);
    for (const prefix of streamPrefixes) values.push(prefix, prefix);
  }
  return { where: parts.join(" "), values };
}
