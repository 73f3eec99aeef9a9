import { AUDIT_STREAM } from "../../domain/audit/events.ts";
import { erasureStream } from "../../domain/erasure/events.ts";
import { typesInStream } from "../../domain/streamNames.ts";
import {
  type EventStore,
  LOG_START,
  type LogBatch,
  type Position,
  type RecordedEvent,
} from "../../ports/eventStore.ts";
import type { ReadDatabaseFile } from "../../ports/readDatabase.ts";
import {
  type ExportEnd,
  type ExportHeader,
  endLine,
  eventLine,
  headerLine,
  missingLine,
} from "./exportFormat.ts";
import { isPortableEvent, isPortableStream } from "./isPortableEvent.ts";

interface ExportOptions {
  readonly store: EventStore;
  readonly header: Omit<ExportHeader, "postledger" | "format">;
  /** An empty database for this export alone, removed afterwards: it notes the last revision seen of each stream. */
  readonly scratch: ReadDatabaseFile;
  readonly onProgress: (events: number, position: Position) => void;
  /** Receives the content of the last line, and how many events of other applications were left out. */
  readonly onEnd: (end: ExportEnd, foreign: number) => void;
}

/** `seen`: the last revision seen; -1: none. `starts_at`: revisions before it are truncated. */
const TABLE = `CREATE TABLE streams (name TEXT PRIMARY KEY, seen INTEGER NOT NULL, starts_at INTEGER NOT NULL)
  WITHOUT ROWID`;
const TRUNCATED = `INSERT INTO streams VALUES (?, -1, ?)
  ON CONFLICT DO UPDATE SET starts_at = excluded.starts_at`;
const EMPTIED =
  "SELECT name FROM streams WHERE seen < 0 AND starts_at > 0 AND name NOT LIKE '$%' ORDER BY name";
const FIND = "SELECT seen, starts_at FROM streams WHERE name = ?";
const SEEN = "INSERT INTO streams VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET seen = excluded.seen";

interface Stream {
  seen: number;
  readonly startsAt: number;
}

/** Counts and digests lines as they go out. */
class Lines {
  readonly hasher = new Bun.CryptoHasher("sha256");
  events = 0;
  missing = 0;
  foreign = 0;
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
 * The log as lines, up to its current head or a little further, in chunks of bounded size: a header, every readable event
 * in the log's order, each gap of missing revisions right before the event that follows it, and an end. Holds one batch in
 * memory. Works while others write. Throws `StoreError`.
 */
export async function* exportLog(options: ExportOptions): AsyncGenerator<string> {
  const { store, header, scratch, onProgress, onEnd } = options;
  const lines = new Lines();
  scratch.run(TABLE);
  await noteTruncations(store, scratch);
  lines.add(headerLine(header));
  yield lines.take();
  for await (const batch of batchesWithReasons(store, lines)) {
    addBatch(lines, batch, scratch);
    onProgress(lines.events, batch.position);
    yield lines.take();
  }
  yield* emptiedStreams(lines, options);
  const { events, missing } = lines;
  const end = { events, missing, sha256: lines.hasher.digest("hex") };
  onEnd(end, lines.foreign);
  yield `${endLine(end)}\n`;
}

/**
 * The log, read on until it holds the reason of everything that is missing. An erasure appends its reason before it
 * truncates, so one pass may miss the reasons of concurrent erasures, and the next pass finds them.
 */
async function* batchesWithReasons(store: EventStore, lines: Lines): AsyncGenerator<LogBatch> {
  let from = LOG_START;
  for await (const batch of store.readAll(from, {})) {
    yield batch;
    from = batch.position;
  }
  let missing: number;
  do {
    missing = lines.missing;
    for await (const batch of store.readAll(from, {})) {
      yield { ...batch, events: batch.events.filter((event) => !reportsErasure(event)) };
      from = batch.position;
    }
  } while (lines.missing > missing);
}

/**
 * Whether an event reports the erasure of a person, or seals such a report. The first pass may have exported what was
 * erased after it. Without the report the request stays open, so the service erases it again where the log is imported.
 */
function reportsErasure({ stream, revision }: RecordedEvent): boolean {
  return stream === AUDIT_STREAM || (stream.startsWith(erasureStream("")) && revision > 0);
}

/** Some stores still return truncated events when the whole log is read. They must not get into the export. */
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
    if (typesInStream(event.stream) === undefined) lines.foreign += 1;
    if (!isPortableEvent(event)) continue;
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

/** Streams without any events left still have a last revision, and do not accept a first append. */
async function* emptiedStreams(lines: Lines, { store, scratch }: ExportOptions): AsyncGenerator<string> {
  for (const { name } of scratch.rows(EMPTIED)) {
    const stream = String(name);
    const last = isPortableStream(stream) ? await store.lastRevision(stream) : null;
    if (last === null) continue;
    lines.addMissing(stream, 0, last);
    yield lines.take();
  }
}
