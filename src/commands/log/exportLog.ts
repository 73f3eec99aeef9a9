import { isLogEvent } from "../../kernel/event/storeLocalEvents.ts";
import { type EventStore, LOG_START, type LogBatch, type Position } from "../../ports/eventStore.ts";
import type { ReadDatabaseFile } from "../../ports/readDatabase.ts";
import {
  type ExportEnd,
  type ExportHeader,
  endLine,
  eventLine,
  headerLine,
  missingLine,
} from "./exportFormat.ts";

export interface ExportOptions {
  readonly store: EventStore;
  readonly header: Omit<ExportHeader, "postledger" | "format">;
  /** An empty database of its own, removed afterwards: which revisions of each stream have come by. */
  readonly scratch: ReadDatabaseFile;
  readonly onProgress: (events: number, position: Position) => void;
  /** Gets what the last line says. */
  readonly onEnd: (end: ExportEnd) => void;
}

/** `seen`: the last revision that has come by; -1: none. `starts_at`: what comes before is not read any more. */
const TABLE = `CREATE TABLE streams (name TEXT PRIMARY KEY, seen INTEGER NOT NULL, starts_at INTEGER NOT NULL)
  WITHOUT ROWID`;
const TRUNCATED = `INSERT INTO streams VALUES (?, -1, ?)
  ON CONFLICT DO UPDATE SET starts_at = excluded.starts_at`;
const EMPTIED =
  "SELECT name FROM streams WHERE seen < 0 AND starts_at > 0 AND name NOT LIKE '$%' ORDER BY name";
const FIND = "SELECT seen, starts_at FROM streams WHERE name = ?";
const SEEN = "INSERT INTO streams VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET seen = excluded.seen";

/** What is known of a stream. */
interface Stream {
  seen: number;
  readonly startsAt: number;
}

/** Counts and digests lines as they go out. */
class Lines {
  readonly hasher = new Bun.CryptoHasher("sha256");
  events = 0;
  missing = 0;
  private text = "";

  add(line: string): void {
    this.text += `${line}\n`;
  }

  addMissing(stream: string, from: number, through: number): void {
    this.missing += through - from + 1;
    this.add(missingLine({ stream, from, through }));
  }

  take(): string {
    const { text } = this;
    this.text = "";
    this.hasher.update(text);
    return text;
  }
}

/**
 * The log as lines, up to where its head is now, in chunks of bounded size: a header, every event that can still be
 * read in the log's order, the revisions that cannot, each gap right before what comes after it, and an end. Holds one
 * batch in memory. Works while others write. Throws `StoreError`.
 */
export async function* exportLog(options: ExportOptions): AsyncGenerator<string> {
  const { store, header, scratch, onProgress, onEnd } = options;
  const lines = new Lines();
  scratch.run(TABLE);
  await noteTruncations(store, scratch);
  lines.add(headerLine(header));
  yield lines.take();
  for await (const batch of store.readAll(LOG_START, {})) {
    addBatch(lines, batch, scratch);
    onProgress(lines.events, batch.position);
    yield lines.take();
  }
  yield* emptiedStreams(lines, options);
  const { events, missing } = lines;
  const end = { events, missing, sha256: lines.hasher.digest("hex") };
  onEnd(end);
  yield `${endLine(end)}\n`;
}

/** Some stores go on showing in the whole log what is cut off in its stream: it must not be let out. */
async function noteTruncations(store: EventStore, scratch: ReadDatabaseFile): Promise<void> {
  for await (const page of store.truncations()) {
    scratch.begin();
    for (const { stream, before } of page) scratch.run(TRUNCATED, stream, before);
    scratch.commit();
  }
}

function addBatch(lines: Lines, { events }: LogBatch, scratch: ReadDatabaseFile): void {
  const streams = new Map<string, Stream>();
  for (const event of events) {
    if (!isLogEvent(event)) continue;
    const stream = streams.get(event.stream) ?? findStream(scratch, event.stream);
    if (event.revision < stream.startsAt) continue;
    if (event.revision > stream.seen + 1) {
      lines.addMissing(event.stream, stream.seen + 1, event.revision - 1);
    }
    stream.seen = event.revision;
    streams.set(event.stream, stream);
    lines.events += 1;
    lines.add(eventLine(event));
  }
  scratch.begin();
  for (const [name, { seen, startsAt }] of streams) scratch.run(SEEN, name, seen, startsAt);
  scratch.commit();
}

function findStream(scratch: ReadDatabaseFile, name: string): Stream {
  const row = scratch.get(FIND, name);
  return row === undefined
    ? { seen: -1, startsAt: 0 }
    : { seen: Number(row.seen), startsAt: Number(row.starts_at) };
}

/** Streams of which nothing is left still have a last revision, and are not open to a first append. */
async function* emptiedStreams(lines: Lines, { store, scratch }: ExportOptions): AsyncGenerator<string> {
  for (const { name } of scratch.rows(EMPTIED)) {
    const stream = String(name);
    const last = isLogEvent({ stream, type: "" }) ? await store.lastRevision(stream) : null;
    if (last === null) continue;
    lines.addMissing(stream, 0, last);
    yield lines.take();
  }
}
