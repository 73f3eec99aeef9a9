import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Projection } from "../../projections/projection.ts";
import { sqliteReadDatabases } from "../../src/adapters/sqlite/readModelDatabases.ts";
import type { EventStore, NewEvent } from "../../src/ports/eventStore.ts";
import type { ReadDatabases, SqlRow } from "../../src/ports/readDatabase.ts";
import type { FollowEvent } from "../../src/readModels/follow/followerThreadMessages.ts";
import { followReadModels } from "../../src/readModels/follow/followReadModels.ts";
import type { ReadModelStorage } from "../../src/readModels/generations/generationFiles.ts";
import { openReaders, type Readers } from "../../src/readModels/readModelReaders.ts";
import { until } from "../support/until.ts";

export interface Added {
  readonly amount: number;
  readonly note: string;
}

/** Two tables, upserts, deletes, and rows that outlive the events they came from. */
export const tally: Projection = {
  name: "tally",
  version: 1,
  events: ["Added", "Erased"],
  tables: [
    {
      name: "tally",
      columns: "stream TEXT PRIMARY KEY, count INTEGER NOT NULL, sum INTEGER NOT NULL",
      key: ["stream"],
      indexes: ["CREATE INDEX tally_by_sum ON tally (sum)"],
    },
    {
      name: "notes",
      columns: "stream TEXT, revision INTEGER, note TEXT, PRIMARY KEY (stream, revision)",
      key: ["stream", "revision"],
    },
  ],
  apply(event, db) {
    if (event.type === "Erased") {
      db.run("DELETE FROM notes WHERE stream = ?", event.stream);
      db.run("DELETE FROM tally WHERE stream = ?", event.stream);
      return;
    }
    const { amount, note } = event.data as Added;
    db.run(
      `INSERT INTO tally VALUES (?, 1, ?)
       ON CONFLICT (stream) DO UPDATE SET count = count + 1, sum = sum + excluded.sum`,
      event.stream,
      amount,
    );
    db.run("INSERT INTO notes VALUES (?, ?, ?)", event.stream, event.revision, note);
  },
};

/** One row that counts: what a reader sees of it can only grow. */
export const counter: Projection = {
  name: "counter",
  version: 1,
  events: ["Added", "Other"],
  tables: [{ name: "counter", columns: "one INTEGER PRIMARY KEY, count INTEGER NOT NULL", key: ["one"] }],
  apply(_event, db) {
    db.run("INSERT INTO counter VALUES (1, 1) ON CONFLICT (one) DO UPDATE SET count = count + 1");
  },
};

/** Stops at the first event that says so. */
export const brittle: Projection = {
  ...counter,
  name: "brittle",
  apply(event, db) {
    if ((event.data as Added).note === "break") throw new Error("secret-of-the-event");
    counter.apply(event, db);
  },
};

export function added(amount: number, note = `note ${amount}`): NewEvent {
  return { id: crypto.randomUUID(), type: "Added", data: { amount, note }, metadata: {} };
}

export function erased(): NewEvent {
  return { id: crypto.randomUUID(), type: "Erased", data: {}, metadata: {} };
}

export function other(): NewEvent {
  return { id: crypto.randomUUID(), type: "Other", data: {}, metadata: {} };
}

/** Appends to the end of the stream. */
export async function append(store: EventStore, stream: string, ...events: NewEvent[]): Promise<void> {
  const last = await store.lastRevision(stream);
  const result = await store.append(stream, events, last ?? "noStream");
  if (result.outcome !== "appended") throw new Error("the append lost a race");
}

/** `count` events over ten streams. */
export async function appendMany(store: EventStore, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await append(store, `s-${index % 10}`, added(index));
}

/** As fast as a disk that never waits: for tests that open files by the hundred and crash nothing. */
export const unsynced: ReadDatabases = {
  ...sqliteReadDatabases,
  open(path, mode) {
    const db = sqliteReadDatabases.open(path, mode);
    if (mode === "write") db.run("PRAGMA synchronous = OFF");
    return db;
  },
};

/** A separate directory for one test. */
export function newStorage(): ReadModelStorage & { readonly remove: () => void } {
  const directory = mkdtempSync(join(tmpdir(), "read-models-"));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  return { databases: sqliteReadDatabases, directory, logId: "log-1", remove };
}

export interface Following {
  readonly readers: Readers<string>;
  readonly events: FollowEvent[];
  /** Settles as the following itself does. */
  readonly ended: Promise<void>;
  /** Waits until all of these are live and the follower stands at the head. */
  caughtUp(): Promise<void>;
  stop(): Promise<void>;
}

/** Follows with the given projections until stopped. */
export function follow(
  storage: ReadModelStorage & { readonly onLogCutShort?: () => Promise<void> },
  store: EventStore,
  projections: Projection[],
  watchedTypes: readonly string[] = [],
): Following {
  const { databases, directory, logId, onLogCutShort = async () => {} } = storage;
  const damagedFiles = new Set<string>();
  const onDamage = (file: string) => void damagedFiles.add(file);
  const readers = openReaders({ databases, directory, projections, onDamage });
  const events: FollowEvent[] = [];
  const stopping = new AbortController();
  const running = followReadModels({
    store,
    logId,
    databases,
    directory,
    projections,
    damagedFiles,
    watchedTypes,
    onLogCutShort,
    retryMs: 1,
    signal: stopping.signal,
    onEvent(event) {
      events.push(event);
      readers.receive(event);
    },
  });
  // stop() reports a follower that failed.
  running.catch(() => {});
  return {
    readers,
    events,
    ended: running,
    async caughtUp() {
      const head = await store.head();
      const isCaughtUp = () => readers.status().every((s) => s.isCaughtUp && s.position >= head);
      await Promise.race([running, until(isCaughtUp, "the follower to catch up")]);
    },
    async stop() {
      stopping.abort();
      await running;
      readers.close();
    },
  };
}

/** Follows to the head and stops. */
export async function followOnce(storage: ReadModelStorage, store: EventStore, projections: Projection[]) {
  const following = follow(storage, store, projections);
  await following.caughtUp();
  await following.stop();
  return following.events;
}

/** The file of a projection's current generation. */
export function currentFile(storage: ReadModelStorage, name: string): string {
  const catalog = storage.databases.open(join(storage.directory, "catalog.db"), "read");
  const row = catalog.get("SELECT file FROM generations WHERE name = ? AND status = 'current'", name);
  catalog.close();
  return String(row?.file);
}

/** All rows of the current generation, table by table. */
export function rowsOf(storage: ReadModelStorage, projection: Projection): Record<string, readonly SqlRow[]> {
  const db = storage.databases.open(join(storage.directory, currentFile(storage, projection.name)), "read");
  const tables = projection.tables.map(({ name, key }) => {
    const rows = db.all(`SELECT * FROM ${name} ORDER BY ${key.join(", ")}`);
    return [name, rows.map((row) => ({ ...row }))] as const;
  });
  db.close();
  return Object.fromEntries(tables);
}

/** The database files of generations on disk. */
export function databaseFiles(storage: ReadModelStorage): string[] {
  return readdirSync(storage.directory)
    .filter((file) => file.endsWith(".db") && file !== "catalog.db")
    .sort();
}

/** The rows of {@link tally} as a plain fold of the log: what they must be. */
export async function foldTally(store: EventStore): Promise<Record<string, readonly SqlRow[]>> {
  const sums = new Map<string, { stream: string; count: number; sum: number }>();
  const notes = new Map<string, { stream: string; revision: number; note: string }[]>();
  for await (const { events } of store.readAll("" as never, { types: ["Added", "Erased"] })) {
    for (const { stream, revision, type, data } of events) {
      if (type === "Erased") {
        sums.delete(stream);
        notes.delete(stream);
        continue;
      }
      const { amount, note } = data as Added;
      const { count, sum } = sums.get(stream) ?? { count: 0, sum: 0 };
      sums.set(stream, { stream, count: count + 1, sum: sum + amount });
      notes.set(stream, [...(notes.get(stream) ?? []), { stream, revision, note }]);
    }
  }
  const streams = [...sums.keys()].sort();
  return {
    tally: streams.flatMap((stream) => sums.get(stream) ?? []),
    notes: streams.flatMap((stream) => notes.get(stream) ?? []),
  };
}
