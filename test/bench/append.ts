import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { toNewEvents } from "../../src/commands/transact.ts";
import { newId } from "../../src/kernel/ids.ts";
import type { EventStore, NewEvent } from "../../src/ports/eventStore.ts";
import { seededRandom } from "./httpLoad.ts";
import { mailBody } from "./mail.ts";

const HEX = "0123456789abcdef".repeat(4);

/** The two events of one accepted message, with the bytes that a real one has; of a suppressed one if so wanted. */
export function sampleEvents(
  random: () => number,
  {
    workspaceId = newId(),
    suppressed = false,
  }: { readonly workspaceId?: string; readonly suppressed?: boolean } = {},
): readonly NewEvent[] {
  const context = {
    at: Date.now(),
    correlationId: "0123456789abcdefghij",
    actor: "api-key:0123456789ab",
    workspaceId,
  };
  const content = mailBody(random);
  const accepted = {
    workspaceId,
    senderId: HEX,
    recipientHash: HEX,
    fingerprint: HEX,
    acceptedAt: new Date(context.at).toISOString(),
    contentEventId: newId(),
    contentDigest: HEX,
    contentBytes: 2_200,
  };
  const stored = { salt: newId(), content };
  return toNewEvents(
    [
      { type: "EmailContentStored", data: stored },
      suppressed
        ? { type: "EmailSuppressed", data: { ...accepted, reason: "recipient_suppressed" } }
        : { type: "EmailQueued", data: accepted },
    ],
    context,
  );
}

/** Two-event appends a second through the adapter, `callers` at a time: the reference of the send path. */
export async function rawAppends(store: EventStore, callers: number, appends: number): Promise<number> {
  const random = seededRandom(2);
  let left = appends;
  const startedAt = performance.now();
  const caller = async () => {
    while (left-- > 0) {
      const result = await store.append(`email-${crypto.randomUUID()}`, sampleEvents(random), "noStream");
      if (result.outcome !== "appended") throw new Error("a new stream existed already");
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return appends / ((performance.now() - startedAt) / 1_000);
}

/** The same rows in a plain loop over SQLite, `batch` appends a transaction: what no adapter can beat by much. */
export async function bareSqliteAppends(batch: number, appends: number): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), "postledger-bench-"));
  const db = new DatabaseSync(join(directory, "bare.db"));
  db.exec(
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA cache_size = -65536",
  );
  db.exec(`CREATE TABLE streams (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, revision INTEGER NOT NULL);
    CREATE TABLE events (position INTEGER PRIMARY KEY, stream INTEGER, revision INTEGER, id TEXT, type TEXT, metadata TEXT, data);
    CREATE UNIQUE INDEX by_stream ON events (stream, revision)`);
  const insertStream = db.prepare("INSERT INTO streams (name, revision) VALUES (?, ?)");
  const insertEvent = db.prepare("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)");
  const random = seededRandom(2);
  let position = 0;
  const startedAt = performance.now();
  for (let done = 0; done < appends; done += batch) {
    db.exec("BEGIN IMMEDIATE");
    for (let index = 0; index < batch; index += 1) {
      const events = sampleEvents(random);
      const { lastInsertRowid } = insertStream.run(`email-${crypto.randomUUID()}`, 1);
      events.forEach(({ id, type, metadata, data }, revision) => {
        position += 1;
        insertEvent.run(
          position,
          lastInsertRowid,
          revision,
          id,
          type,
          JSON.stringify(metadata),
          JSON.stringify(data),
        );
      });
    }
    db.exec("COMMIT");
  }
  const perSecond = appends / ((performance.now() - startedAt) / 1_000);
  db.close();
  await rm(directory, { recursive: true, force: true });
  return perSecond;
}
