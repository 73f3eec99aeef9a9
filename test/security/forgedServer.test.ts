import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { binaryEvent, EventStoreDBClient, jsonEvent } from "@eventstore/db-client";
import { connectEventStoreDb } from "../../src/adapters/eventstoredb/eventStoreDb.ts";
import { sqliteReadDatabases } from "../../src/adapters/sqlite/readModelDatabases.ts";
import { serviceIdFile } from "../../src/adapters/system/serviceIdFile.ts";
import { verifyLog } from "../../src/commands/audit/verify/verifyLog.ts";
import { registerService } from "../../src/commands/instance/registerService.ts";
import { emailStream } from "../../src/domain/email/events.ts";
import { newId } from "../../src/kernel/ids.ts";
import { type EventStore, locationOfFault } from "../../src/ports/eventStore.ts";
import { AuditedLog, type LogAction } from "../support/auditedLog.ts";
import { canStartEventStoreDb, type OwnServer, startEventStoreDb } from "../support/stores/eventstoredb.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";

const START_MS_MAX = 120_000;
const HISTORY: readonly LogAction[] = [
  { kind: "send", length: 10, suppressed: false },
  { kind: "deliver", at: 0 },
  { kind: "erase", at: 0 },
  { kind: "suppress", at: 0 },
];

/** On a separate server: what is forged here shows up in every log on it. */
describe.skipIf(!canStartEventStoreDb)("a client that writes to the server behind the service's back", () => {
  const folder = temporaryFolder();
  let server: OwnServer;
  let client: EventStoreDBClient;
  let store: EventStore;
  let erased = "";

  beforeAll(async () => {
    server = await startEventStoreDb();
    client = EventStoreDBClient.connectionString(server.url);
    store = await connectEventStoreDb({ url: server.url });
    const log = new AuditedLog(store);
    await log.play(HISTORY);
    await log.seal();
    for await (const page of store.truncations()) erased ||= page[0]?.stream ?? "";
  }, START_MS_MAX);
  afterAll(async () => {
    await store.close();
    await client.dispose();
    await server.process.kill();
  });

  async function found(): Promise<readonly string[]> {
    const result = await verifyLog({
      ...{ store, databases: sqliteReadDatabases, temporaryPath: join(folder, `${newId()}.db`) },
      ...{ trusted: [], kept: null, signal: new AbortController().signal },
    });
    return result.shown.map((finding) => `${finding.kind} ${locationOfFault(finding)}`);
  }
  const appendEvent = (stream: string, type: string, data: Record<string, unknown>) =>
    client.appendToStream(stream, [jsonEvent({ type, data })]);

  test("is not reported where there was none", async () => {
    const location = { dataDir: folder, host: "here" };
    const context = () => ({ at: Date.now(), correlationId: newId(), actor: "cli" });
    const memory = serviceIdFile({ path: join(folder, "service.id"), lockPath: folder });
    await registerService(store, { location, memory }, context);
    expect(await found()).toEqual([]);
  });

  test("and bounds a stream by metadata of any type is detected", async () => {
    const stream = emailStream(newId());
    await client.appendToStream(
      stream,
      [1, 2, 3].map((n) => jsonEvent({ type: "EmailDeferred", data: { n } })),
    );
    await appendEvent(`$$${stream}`, "a note", { $maxCount: 1 });
    // The server applies the metadata, whatever the event's type.
    expect(await store.read(stream, 0, 10)).toHaveLength(1);
    expect(await found()).toEqual([
      `changed metadata of ${stream}`,
      `hidden ${stream}@0`,
      `hidden ${stream}@1`,
      `hidden ${stream}@2`,
    ]);
    await appendEvent(`$$${stream}`, "a note", { $acl: { $r: "$all" } });
    expect(await found()).toEqual([`changed metadata of ${stream}`]);
    await appendEvent(`$$${stream}`, "a note", { $tb: 2 });
    expect(await found()).toEqual([`hidden ${stream}@0`, `hidden ${stream}@1`]);
    for (const noEvent of [{}, null, [], 1])
      await appendEvent(`$$${stream}`, "a note", noEvent as Record<string, unknown>);
    await client.appendToStream(`$$${stream}`, [binaryEvent({ type: "a note", data: Buffer.from("{}") })]);
    expect(await found()).toEqual([`changed ${stream}@0`, `changed ${stream}@1`]);
    await appendEvent(`$$${stream}`, "a note", { $maxAge: 1 });
    expect(await found()).toContain(`changed metadata of ${stream}`);
  });

  test("and makes truncated events of a stream visible again is detected", async () => {
    await appendEvent(`$$${erased}`, "$metadata", {});
    expect(await store.read(erased, 0, 1)).toMatchObject([{ revision: 0 }]);
    expect(await found()).toContain(`changed ${erased}@0`);
  });

  test.each(["$settings", "update-default-acl", "anything"])(
    "and changes the default access rights by %s is detected, and reported once",
    async (type) => {
      await appendEvent("$settings", type, { $userStreamAcl: { $r: "$all", $w: "$all" } });
      const settings = (await found()).filter((finding) => finding === "changed $settings");
      expect(settings).toHaveLength(1);
    },
  );
});
