import type { Projection } from "../../projections/projection.ts";
import { nextTurn } from "../kernel/concurrency/sleep.ts";
import { UnreadableEventError } from "../kernel/event/eventCodec.ts";
import type { EventStore, LogBatch, Position, RecordedEvent } from "../ports/eventStore.ts";
import { type ProjectedRows, ReadDatabaseError, type ReadDatabaseFile } from "../ports/readDatabase.ts";
import { BufferedIncrements } from "./bufferedIncrements.ts";
import { type EventReference, writeCheckpoint } from "./generations/generationMeta.ts";

/** The most events in one transaction: more gains no speed and only makes a crash costlier. */
export const TRANSACTION_EVENTS_MAX = 2_000;
/** The same for reading to the head: with fewer commits, a page that changes again and again is written out once. */
const READING_TRANSACTION_EVENTS_MAX = 10_000;
/** A projection with nothing to apply still saves its checkpoint after this many events of other types. */
const CHECKPOINT_LAG_EVENTS_MAX = 20_000;
/** Or after this time. */
const CHECKPOINT_LAG_MS_MAX = 1_000;

/** Greater than every position. */
const NO_LIMIT = "\uffff" as Position;

/** Why a projection stopped. */
interface ApplyFailure {
  /** Names the event and the kind of error, never the event's data. */
  readonly reason: string;
  /** `projection`: its code or the event is at fault, so a retry would fail again. Otherwise the database is. */
  readonly cause: "projection" | "unavailable" | "damaged";
}

/** Applies the log's events to one generation. Only this module changes it. */
export interface Applier {
  readonly projection: Projection;
  readonly db: ReadDatabaseFile;
  /** The database as the projection sees it: the first write begins a transaction. */
  readonly rows: ProjectedRows;
  /** What the open transaction still has to add to sums. */
  readonly sums: BufferedIncrements;
  /** Events after this position are skipped: a verification stops at another generation's checkpoint. */
  readonly limit: Position;
  /** Everything up to here is applied, perhaps not yet committed. */
  position: Position;
  /** The position saved in the file. */
  checkpoint: Position;
  checkpointAt: number;
  /** The last event fed to the applier since the checkpoint, of any type; null if there was none. */
  lastEvent: EventReference | null;
  eventsSinceCheckpoint: number;
  isWriting: boolean;
  failure: ApplyFailure | undefined;
}

/** Starts at the file's checkpoint. */
export function createApplier(
  projection: Projection,
  db: ReadDatabaseFile,
  checkpoint: Position,
  limit = NO_LIMIT,
): Applier {
  const applier: Applier = {
    projection,
    db,
    rows: {
      run(sql, ...values) {
        beginWriting(applier);
        db.run(sql, ...values);
      },
      get: (sql, ...values) => db.get(sql, ...values),
      all: (sql, ...values) => db.all(sql, ...values),
      change(sql, ...values) {
        beginWriting(applier);
        return db.change(sql, ...values);
      },
      add(sql, key, amounts) {
        beginWriting(applier);
        applier.sums.add(sql, key, amounts);
      },
    },
    sums: new BufferedIncrements(),
    limit,
    position: checkpoint,
    checkpoint,
    checkpointAt: performance.now(),
    lastEvent: null,
    eventsSinceCheckpoint: 0,
    isWriting: false,
    failure: undefined,
  };
  return applier;
}

/** Begins a transaction only when a row changes: most events mean nothing to most projections. */
function beginWriting(applier: Applier): void {
  if (applier.isWriting) return;
  applier.db.begin();
  applier.isWriting = true;
}

/** Whether the message cannot contain event data: SQLite names columns, the codec a path, JavaScript code. */
function isSafe(error: Error): boolean {
  if (error instanceof ReadDatabaseError || error instanceof UnreadableEventError) return true;
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
}

/** The reason without the event's location, which is reported separately. */
function messageOf(error: Error): string {
  return error instanceof UnreadableEventError ? error.reason : error.message;
}

function failureOf(error: unknown, where: string): ApplyFailure {
  const name = error instanceof Error ? error.name : "a thrown value";
  const what = error instanceof Error && isSafe(error) ? `${name}: ${messageOf(error)}` : name;
  const isDatabase = error instanceof ReadDatabaseError && error.failure !== "statement";
  return { reason: `${where}: ${what}`, cause: isDatabase ? error.failure : "projection" };
}

function eventPlace(projection: Projection, event: RecordedEvent): string {
  return `projection ${projection.name} stopped at ${event.type}, stream ${event.stream}, revision ${event.revision}`;
}

/** Stops an applier with a failure and rolls back what is not committed. */
export function stop(applier: Applier, failure: ApplyFailure): void {
  applier.failure = failure;
  applier.isWriting = false;
  applier.sums.clear();
  try {
    applier.db.rollback();
  } catch {
    // Closing the file rolls back anyway.
  }
  applier.position = applier.checkpoint;
  applier.lastEvent = null;
}

function applyOne(applier: Applier, event: RecordedEvent): void {
  if (event.position <= applier.position || event.position > applier.limit || applier.failure) return;
  try {
    applier.projection.apply(event, applier.rows);
  } catch (error) {
    stop(applier, failureOf(error, eventPlace(applier.projection, event)));
  }
}

/** The event types that at least one of the appliers wants. */
export function typesOf(appliers: Iterable<Applier>): readonly string[] {
  const types = new Set<string>();
  for (const { projection } of appliers) for (const type of projection.events) types.add(type);
  return [...types];
}

/** Hands events of the log, in order, to the appliers that want them. */
export type Feed = (batch: LogBatch) => void;

/**
 * A feed for these appliers. Each skips events that it already has; one that fails gets no more events.
 * Nothing is committed before {@link commit}.
 */
export function createFeed(appliers: readonly Applier[]): Feed {
  const takers = new Map<string, Applier[]>();
  for (const applier of appliers) {
    for (const type of applier.projection.events) takers.getOrInsertComputed(type, () => []).push(applier);
  }
  return ({ events, position }) => {
    for (const event of events) {
      const list = takers.get(event.type);
      if (list) for (const applier of list) applyOne(applier, event);
    }
    for (const applier of appliers) {
      noteLast(applier, events.at(-1));
      moveTo(applier, position, events.length);
    }
  };
}

function noteLast(applier: Applier, event: RecordedEvent | undefined): void {
  if (event === undefined || event.position <= applier.position || event.position > applier.limit) return;
  const { stream, revision, id } = event;
  applier.lastEvent = { stream, revision, id };
}

function isDone({ failure, position, limit }: Applier): boolean {
  return failure !== undefined || position >= limit;
}

/** Notes that the applier has been fed everything up to `position`, `events` events of all types. */
export function moveTo(applier: Applier, position: Position, events: number): void {
  if (applier.failure) return;
  const reached = position > applier.limit ? applier.limit : position;
  if (reached <= applier.position) return;
  applier.position = reached;
  applier.eventsSinceCheckpoint += events;
}

/** Commits rows and checkpoint together. A commit that fails stops the applier. */
export function commit(applier: Applier): void {
  if (applier.failure || (!applier.isWriting && applier.position === applier.checkpoint)) return;
  try {
    beginWriting(applier);
    applier.sums.writeTo(applier.db);
    writeCheckpoint(applier.db, applier.position, applier.lastEvent);
    applier.db.commit();
    applier.isWriting = false;
    applier.checkpoint = applier.position;
    applier.checkpointAt = performance.now();
    applier.lastEvent = null;
    applier.eventsSinceCheckpoint = 0;
  } catch (error) {
    stop(applier, failureOf(error, `projection ${applier.projection.name} stopped at a commit`));
  }
}

/** Commits if rows have changed, or the saved checkpoint lags too far behind. */
export function commitDue(applier: Applier): void {
  const { isWriting, eventsSinceCheckpoint, checkpointAt } = applier;
  const isLagging =
    eventsSinceCheckpoint >= CHECKPOINT_LAG_EVENTS_MAX ||
    performance.now() - checkpointAt >= CHECKPOINT_LAG_MS_MAX;
  if (isWriting || isLagging) commit(applier);
}

/**
 * Feeds the appliers the log, from the lowest of their positions to its head or to their limits. Commits now and then
 * and at the end. Yields the number of events since the last yield.
 */
export async function* feedToHead(store: EventStore, appliers: readonly Applier[]): AsyncIterable<number> {
  const head = await store.head();
  const [from] = appliers.map(({ position }) => position).sort();
  if (from === undefined) return;
  const feed = createFeed(appliers);
  let pending = 0;
  for await (const batch of store.readAll(from, { types: typesOf(appliers) })) {
    feed(batch);
    pending += batch.events.length;
    if (appliers.every(isDone)) break;
    if (pending < TRANSACTION_EVENTS_MAX) continue;
    for (const applier of appliers) {
      if (applier.eventsSinceCheckpoint >= READING_TRANSACTION_EVENTS_MAX) commit(applier);
    }
    yield pending;
    pending = 0;
    // A store that reads from memory never yields to the event loop by itself.
    await nextTurn();
  }
  // The reading covered everything up to `head`, though its last batch may end before it.
  feed({ events: [], position: head, caughtUp: true });
  for (const applier of appliers) commit(applier);
  yield pending;
}
