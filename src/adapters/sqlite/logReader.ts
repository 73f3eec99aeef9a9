import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type JsonObject, parseJson } from "../../kernel/text/json.ts";
import {
  APPEND_BYTES_MAX,
  type LogBatch,
  type LogFilter,
  type Position,
  type RecordedEvent,
  type Truncation,
} from "../../ports/eventStore.ts";
import { positionNumber, positionText } from "./logPosition.ts";

/** One batch holds at most this many events and scans at most this many positions. */
const BATCH_EVENTS_MAX = 1_000;
const BATCH_POSITIONS_MAX = 10_000;

/** A batch ends after the event that takes it past this size. */
const BATCH_BYTES_MAX = 16_000_000;
/** Far longer than any of our ids or names. */
const NAME_CHARS_MAX = 500;

/** Skips values longer than anything that we append, so no reader has to hold them in memory. */
const COLUMNS = `e.position, e.revision, substr(e.id, 1, ${NAME_CHARS_MAX}) AS id,
  substr(e.type, 1, ${NAME_CHARS_MAX}) AS type,
  CASE WHEN octet_length(e.metadata) <= ${APPEND_BYTES_MAX} THEN e.metadata END AS metadata,
  CASE WHEN octet_length(e.data) <= ${APPEND_BYTES_MAX} THEN e.data END AS data,
  octet_length(e.metadata) + octet_length(e.data) AS bytes`;
/**
 * One statement, which finds the stream in the index of names without reading its row: on a long log every page costs
 * another read of the file. Skips events outside the ends of the log, because readers of the whole log never see them
 * and no decision may depend on them.
 */
const OF_STREAM = `SELECT ${COLUMNS} FROM events e WHERE e.stream = (SELECT id FROM streams WHERE name = ?)
  AND e.revision >= ? AND e.position BETWEEN 1 AND (SELECT head FROM log) AND e.type <> ''
  ORDER BY e.revision LIMIT ? + 0`;
const FROM = "FROM events e CROSS JOIN streams s ON s.id = e.stream";

const TRUNCATED = `SELECT id, name, truncate_before FROM streams WHERE truncate_before > 0 AND id > ?
  ORDER BY id LIMIT ? + 0`;

type Row = Readonly<Record<string, unknown>>;

/** The data of a damaged row. No codec accepts it, so every reader that needs the event stops there. */
const DAMAGED = new Uint8Array(0);

/** The JSON object in a column; null if there is none any more. */
function objectIn(column: unknown): JsonObject | null {
  const value = typeof column === "string" ? parseJson(column) : null;
  return typeof value === "object" ? (value as JsonObject | null) : null;
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

  /** Throws if somebody has changed the head to something else than a position: reading up to it might never end. */
  head(): number {
    const head = this.prepare("SELECT head FROM log").get()?.head;
    if (!Number.isSafeInteger(head)) throw new TypeError("the log's head is not a valid position");
    return Number(head);
  }

  /** A page of truncated streams in order of id, after `id`; `next` is null after the last. */
  truncations(id: number): { readonly page: readonly Truncation[]; readonly next: number | null } {
    const rows = this.prepare(TRUNCATED).all(id, BATCH_EVENTS_MAX);
    const page = rows.map((row) => ({ stream: String(row.name), before: Number(row.truncate_before) }));
    return { page, next: page.length < BATCH_EVENTS_MAX ? null : Number(rows.at(-1)?.id) };
  }

  /** Changes whenever another connection has committed. */
  dataVersion(): number {
    return Number(this.prepare("PRAGMA data_version").get()?.data_version);
  }

  /** The position before the next event. Positions have no gaps, but this skips one made by tampering, however wide. */
  private beforeNext(position: number, until: number): number {
    const row = this.prepare("SELECT min(position) AS next FROM events WHERE position > ? AND position <= ?");
    const next = row.get(position, until)?.next ?? null;
    return next === null ? until : Number(next) - 1;
  }

  /** The next batch after `from`; never reads past `until`. */
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
  // The row of a truncated event has an empty type.
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
