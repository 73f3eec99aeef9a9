import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EventStoreDBClient, jsonEvent } from "@eventstore/db-client";
import { readLines } from "../../../src/adapters/durableFiles/compressedLineFile.ts";
import { runProgram } from "../../support/process/runCommand.ts";
import { startTestApp, type TestApp } from "../../support/service.ts";
import {
  canStartEventStoreDb,
  type OwnServer,
  startEventStoreDb,
} from "../../support/stores/eventstoredb.ts";
import { until } from "../../support/until.ts";

const TEST_MS_MAX = 120_000;
const MASTER_KEY = Buffer.alloc(32, 7).toString("base64");
/** What a bootstrapped workspace may send from. */
const FROM = "hello@example.com";

/** Events of other applications that have the names of ours, each in a stream of its own. */
const FOREIGN = {
  "crm-customer-77": ["EmailSent"],
  "cms-page-5": ["PageAdded", "PageEdited", "TemplateDeleted", "PagePublished"],
  "notes-3": ["NoteAdded", "EmailContentErased"],
  "vm-42": ["InstanceRestored"],
  "team-1": ["WorkspaceCreated"],
} as const;

/** Appends as another application, as soon as the server takes it: one that has just started may not be ready yet. */
async function appendAsAnother(
  client: EventStoreDBClient,
  stream: string,
  types: readonly string[],
): Promise<void> {
  // Of one id each, so a repeat appends none of them twice.
  const events = types.map((type) => jsonEvent({ type, data: { customer: 77, name: "Sales" } }));
  const isAppended = () =>
    client.appendToStream(stream, events).then(
      () => true,
      () => false,
    );
  await until(isAppended, "the server to take an append");
}

describe.skipIf(!canStartEventStoreDb)("an EventStoreDB that other applications use too", () => {
  let server: OwnServer;
  let client: EventStoreDBClient;
  let folder: string;
  let env: Record<string, string>;
  let service: TestApp;

  const append = (stream: string, types: readonly string[]) => appendAsAnother(client, stream, types);
  const typesIn = async (stream: string) => {
    const types: string[] = [];
    for await (const { event } of client.readStream(stream)) if (event) types.push(event.type);
    return types;
  };
  const statusOf = async (id: string) => (await service.call("GET", `/api/v1/emails/${id}`)).json.status;
  const send = async (key: string) => {
    const answer = await service.send(key, {
      from: FROM,
      to: "you@example.org",
      subject: "hi",
      text: "hello",
    });
    expect(answer.status).toBe(202);
    return String(answer.json.id);
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "postledger-test-"));
    server = await startEventStoreDb();
    client = EventStoreDBClient.connectionString(server.url);
    for (const [stream, types] of Object.entries(FOREIGN)) await append(stream, types);
    env = {
      STORE_URL: server.url,
      MASTER_KEY,
      CONTENT_URL: `file:${join(folder, "content")}`,
      BOOTSTRAP: "on",
    };
    service = await startTestApp({ dataDir: join(folder, "data"), env });
  }, TEST_MS_MAX);
  afterAll(async () => {
    await service?.remove();
    await client?.dispose();
    await server?.process.kill();
    await rm(folder, { recursive: true, force: true });
  });

  test(
    "delivers mail all the same, and leaves their streams alone, whenever they were written",
    async () => {
      for (const [stream, types] of Object.entries(FOREIGN)) await append(stream, types);
      const id = await send("beside-others");
      await until(async () => (await statusOf(id)) === "sent", "the mail to be sent");
      // The clean-up after an erasure of our own follows the log in order: it has passed theirs by then.
      expect((await service.call("DELETE", `/api/v1/emails/${id}/content`)).status).toBeLessThan(300);
      await until(
        async () => (await typesIn(`email-${id}`))[0] !== "EmailContentStored",
        "the content to be gone",
      );
      for (const [stream, types] of Object.entries(FOREIGN))
        expect(await typesIn(stream)).toEqual([...types, ...types]);
    },
    TEST_MS_MAX,
  );

  test(
    "shows nothing of theirs in lists, exports and seals",
    async () => {
      const list = await runProgram(["workspace", "list", "--json"], service.dataDir, env);
      expect(list.json).toHaveLength(1);
      const out = join(folder, "log.zst");
      const exported = await runProgram(["log", "export", "--out", out], service.dataDir, env);
      expect(exported.out).toContain("events of other applications on this server were left out");
      for await (const page of readLines(out))
        for (const line of page) expect(line).not.toMatch(/crm-|cms-|notes-|vm-42|team-1/);
      expect(await runProgram(["audit", "seal"], service.dataDir, env)).toMatchObject({ exitCode: 0 });
    },
    TEST_MS_MAX,
  );

  test(
    "verifies a log beside theirs, whatever they do with them, but not what they write in ours",
    async () => {
      await client.setStreamMetadata("crm-customer-77", { maxCount: 1 });
      await client.setStreamMetadata("cms-page-5", { truncateBefore: 1, acl: { readRoles: ["crm"] } });
      await client.deleteStream("notes-3");
      await client.appendToStream("links-1", jsonEvent({ type: "$>", data: "0@crm-customer-77" }));
      const verify = () => runProgram(["audit", "verify", "--json"], service.dataDir, env);
      const clean = await verify();
      expect(clean).toMatchObject({ exitCode: 0, json: { findings: 0, shown: [] } });
      const { foreign, events, ...counts } = clean.json as Record<
        "foreign" | "events" | "compared" | "uncovered" | "never_sealed",
        number
      >;
      expect(foreign).toBeGreaterThan(5);
      expect(counts.compared + counts.uncovered + counts.never_sealed).toBe(events);
      const { out } = await runProgram(["audit", "verify"], service.dataDir, env);
      expect(out).toContain(`not ${foreign} events of other applications on this server`);

      const ours = `email-${crypto.randomUUID()}`;
      await append(ours, ["PageAdded"]);
      expect(await verify()).toMatchObject({
        exitCode: 1,
        json: { foreign, shown: [{ kind: "unknown", stream: ours, revision: 0 }] },
      });
    },
    TEST_MS_MAX,
  );
});

describe.skipIf(!canStartEventStoreDb)("an EventStoreDB on which another application has taken", () => {
  let server: OwnServer;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "postledger-test-"));
    server = await startEventStoreDb();
    const client = EventStoreDBClient.connectionString(server.url);
    await appendAsAnother(client, "audit", ["UserLoggedIn"]);
    await client.dispose();
  }, TEST_MS_MAX);
  afterAll(async () => {
    await server?.process.kill();
    await rm(folder, { recursive: true, force: true });
  });

  test(
    "the name of one of our streams is not started on",
    async () => {
      const env = { STORE_URL: server.url, MASTER_KEY, PORT: "0" };
      const result = await runProgram(["serve"], join(folder, "data"), env);
      expect(result.exitCode).toBe(2);
      expect(result.err).toContain("the stream audit begins with an event of another application");
      expect(result.err).toContain("a server or cluster of its own");
    },
    TEST_MS_MAX,
  );
});
