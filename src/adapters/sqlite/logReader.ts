import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { JsonObject } from "../../kernel/json.ts";
import {
  LOG_START,
  type LogBatch,
  type LogFilter,
  type Position,
  type RecordedEvent,
  type Truncation,
} from "../../ports/eventStore.ts";
import { positionText } from "./groupCommit.ts";

/** One batch holds at most this many events and looks at no more than this many positions. */
const BATCH_EVENTS_MAX = 1_000;
const BATCH_POSITIONS_MAX = 10_000;

const COLUMNS = "e.position, s.name, e.revision, e.id, e.type, e.metadata, e.data";
const FROM = "FROM events e CROSS JOIN streams s ON s.id = e.stream";
const TRUNCATED = `SELECT id, name, truncate_before FROM streams WHERE truncate_before > 0 AND id > ?
  ORDER BY id LIMIT ?`;

type Row = Readonly<Record<string, unknown>>;

function recorded(row: Row): RecordedEvent {
  const data = row.data;
  return {
    stream: row.name as string,
    revision: row.revision as number,
    position: positionText(row.position as number),
    id: row.id as string,
    type: row.type as string,
    data: typeof data === "string" ? (JSON.parse(data) as object) : (data as Uint8Array),
    metadata: JSON.parse(row.metadata as string) as JsonObject,
  };
}

/** Reads the log on one connection. Every call is one statement or one short read transaction. */
export class LogReader {
  private readonly statements = new Map<string, StatementSync>();

  constructor(private readonly db: DatabaseSync) {}

  private prepare(sql: string): StatementSync {
    let statement = this.statements.get(sql);
    if (!statement) {
      statement = this.db.prepare(sql);
      this.statements.set(sql, statement);
    }
    return statement;
  }

  stream(name: string, from: number, max: number): readonly RecordedEvent[] {
    const row = this.prepare("SELECT id FROM streams WHERE name = ?").get(name);
    if (!row) return [];
    const sql = `SELECT ${COLUMNS} FROM streams s CROSS JOIN events e ON e.stream = s.id
      WHERE s.id = ? AND e.revision >= ? ORDER BY e.revision LIMIT ?`;
    return this.prepare(sql)
      .all(Number(row.id), from, max)
      .map((event) => recorded(event as Row));
  }

  lastRevision(name: string): number | null {
    const row = this.prepare("SELECT revision FROM streams WHERE name = ?").get(name);
    return row ? Number(row.revision) : null;
  }

  head(): number {
    return Number(this.prepare("SELECT head FROM log").get()?.head);
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

  /** The next batch after `from`, never looking past `until`. */
  batch(from: Position, filter: LogFilter, until: number): LogBatch {
    const after = from === LOG_START ? 0 : Number(from);
    const last = Math.max(after, Math.min(until, after + BATCH_POSITIONS_MAX));
    const { where, values } = conditions(filter);
    const sql = `SELECT ${COLUMNS} ${FROM} WHERE e.position > ? AND e.position <= ? ${where}
      ORDER BY e.position LIMIT ${BATCH_EVENTS_MAX}`;
    const rows = this.prepare(sql).all(after, last, ...values);
    const events = rows.map((row) => recorded(row as Row));
    const full = events.length === BATCH_EVENTS_MAX;
    const reached = full ? Number(rows.at(-1)?.position) : last;
    return {
      events,
      position: reached === 0 ? LOG_START : positionText(reached),
      caughtUp: reached >= until,
    };
  }
}

function conditions({ types, streamPrefixes }: LogFilter): { where: string; values: string[] } {
  const parts: string[] = [];
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
