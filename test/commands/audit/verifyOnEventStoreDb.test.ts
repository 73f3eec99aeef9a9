import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { EventStoreDBClient } from "@eventstore/db-client";
import fc from "fast-check";
import { connectEventStoreDb } from "../../../src/adapters/eventstoredb/eventStoreDb.ts";
import { AUDIT_STREAM } from "../../../src/domain/audit/events.ts";
import {
  type EventStore,
  LOG_START,
  locationOfFault,
  type RecordedEvent,
} from "../../../src/ports/eventStore.ts";
import { AuditedLog, type LogAction, logActions } from "../../support/auditedLog.ts";
import { canStartEventStoreDb, startEventStoreDb } from "../../support/stores/eventstoredb.ts";
import { until } from "../../support/until.ts";
import { verifyWholeLog } from "../../support/verifyWholeLog.ts";

const TEST_MS_MAX = 180_000;
const CLEAN_HISTORIES = 100;
/** Each verification reads all of the log again, with everything that an earlier one should not have found. */
const HISTORIES_PER_RUN = 5;
/** Of each history no more than this: a log grows by all of them. */
const ACTIONS_PER_HISTORY = 4;
const FLIPS = 20;

type Server = Awaited<ReturnType<typeof startEventStoreDb>>;

// A server of its own: the log of the others' holds what their tests have done to it.
describe.skipIf(!canStartEventStoreDb)("on EventStoreDB", () => {
  let server: Server;
  let store: EventStore;
  let client: EventStoreDBClient;

  beforeAll(async () => {
    server = await startEventStoreDb();
    store = await connectEventStoreDb({ url: server.url });
    client = EventStoreDBClient.connectionString(server.url);
  }, TEST_MS_MAX);

  afterAll(async () => {
    await store?.close();
    await client?.dispose();
    await server?.process.kill();
  });

  const eventsOf = async (): Promise<readonly RecordedEvent[]> => {
    const events: RecordedEvent[] = [];
    for await (const batch of store.readAll(LOG_START, {})) events.push(...batch.events);
    return events;
  };

  test(
    `a log that nobody has touched has no findings while it grows by ${CLEAN_HISTORIES} histories`,
    async () => {
      const log = new AuditedLog(store);
      for (const [nth, history] of fc.sample(logActions, CLEAN_HISTORIES).entries()) {
        await log.play(history.slice(0, ACTIONS_PER_HISTORY));
        if (nth % HISTORIES_PER_RUN === 0) expect((await verifyWholeLog(store)).shown).toEqual([]);
      }
      await log.seal();
      expect(await verifyWholeLog(store)).toMatchObject({ findings: 0, uncovered: 0 });
    },
    TEST_MS_MAX,
  );

  test(
    "nor has it any once a scavenge has removed what was erased",
    async () => {
      const before = (await eventsOf()).length;
      await scavenge(server.port);
      await until(
        async () => (await eventsOf()).length < before,
        "the scavenge to remove erased events",
        60_000,
      );
      expect(await verifyWholeLog(store)).toMatchObject({ findings: 0, uncovered: 0 });
    },
    TEST_MS_MAX,
  );

  test(
    "events that their stream does not show any more are found, and where",
    async () => {
      const log = new AuditedLog(store);
      const keys = Array.from({ length: 4 }, (): LogAction => ({ kind: "key", at: 0 }));
      await log.play([...keys, { kind: "send", length: 10, suppressed: false }]);
      await log.seal();
      const events = await eventsOf();
      const [truncated, deleted, buried, bounded] = [...new Set(events.map(({ stream }) => stream))]
        .filter(
          (stream) =>
            stream.startsWith("apikey-") && events.filter((one) => one.stream === stream).length === 2,
        )
        .slice(-4) as [string, string, string, string];
      const mail = events.findLast(({ type }) => type === "EmailQueued")?.stream ?? "";
      await store.truncateBefore(truncated, 1);
      await store.truncateBefore(mail, 1);
      await client.deleteStream(deleted);
      await client.setStreamMetadata(bounded, { maxCount: 1 });
      await client.tombstoneStream(buried);
      const { shown } = await verifyWholeLog(store);
      const hidden = [deleted, buried, bounded].flatMap((stream) => [`${stream}@0`, `${stream}@1`]);
      const [metadata, ...others] = shown;
      expect(metadata).toMatchObject({ kind: "changed", object: `metadata of ${bounded}` });
      expect(metadata?.detail).toContain("$maxCount");
      expect(others.map(({ kind }) => kind)).toEqual(others.map(() => "hidden"));
      expect(others.map(locationOfFault).sort()).toEqual([...hidden, `${truncated}@0`, `${mail}@0`].sort());
    },
    TEST_MS_MAX,
  );

  test(
    `bytes that are changed in the chunks are found, and where, ${FLIPS} of ${FLIPS}`,
    async () => {
      const before = new Set(
        (await verifyWholeLog(store)).shown.map(({ stream, revision }) => `${stream}@${revision}`),
      );
      const head = await store.head();
      const log = new AuditedLog(store);
      await log.play([
        { kind: "send", length: 10, suppressed: false },
        ...Array.from({ length: 4 }, (): LogAction => ({ kind: "attempt", at: 0 })),
      ]);
      await log.play(Array.from({ length: 2 * FLIPS }, (): LogAction => ({ kind: "key", at: 1 })));
      await log.seal();
      const events = (await eventsOf()).filter(
        ({ stream, position }) => stream !== AUDIT_STREAM && position > head,
      );
      await server.process.kill();
      const planted = await flipInLastChunk(server.folder, events, FLIPS);
      await server.process.start();
      const { shown } = await verifyWholeLog(store);
      const found = shown
        .map(({ stream, revision }) => `${stream}@${revision}`)
        .filter((name) => !before.has(name));
      expect(planted).toHaveLength(FLIPS);
      expect(found.sort()).toEqual([...planted].sort());
    },
    TEST_MS_MAX,
  );
});

async function scavenge(port: number): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/admin/scavenge`, { method: "POST" });
  if (!answer.ok) throw new Error(`the server refused to scavenge: ${answer.status}`);
}

/**
 * Changes a letter of the correlation id of some events in the server's files; of which it did. In the chunk that is
 * still written to: the server itself refuses a chunk that was changed after its end.
 */
async function flipInLastChunk(
  folder: string,
  events: readonly RecordedEvent[],
  count: number,
): Promise<readonly string[]> {
  const database = join(folder, "db");
  const chunk =
    (await readdir(database))
      .filter((name) => name.startsWith("chunk-"))
      .sort()
      .at(-1) ?? "";
  const bytes = await readFile(join(database, chunk));
  const planted: string[] = [];
  for (const { stream, revision, metadata } of events) {
    const at = bytes.indexOf(String(metadata.correlationId));
    if (at < 0 || planted.length === count) continue;
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    planted.push(`${stream}@${revision}`);
  }
  await writeFile(join(database, chunk), bytes);
  return planted;
}
