import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cp, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readLines } from "../../../src/adapters/durableFiles/compressedLineFile.ts";
import type { Dependencies } from "../../../src/commands/dependencies.ts";
import { readEmail } from "../../../src/commands/email/readEmail.ts";
import { resumeDelivery } from "../../../src/commands/instance/resumeDelivery.ts";
import { isPortableEvent } from "../../../src/commands/log/isPortableEvent.ts";
import { emailStream } from "../../../src/domain/email/events.ts";
import { EVENT_ERASED } from "../../../src/domain/logImport/events.ts";
import { type EventStore, LOG_START } from "../../../src/ports/eventStore.ts";
import type { RowDifference } from "../../../src/readModels/compareTables.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { runJsonCommand } from "../../support/process/jsonCommand.ts";
import { canStartEventStoreDb, startEventStoreDb } from "../../support/stores/eventstoredb.ts";
import { openLog, startService } from "../../support/tenants.ts";
import { type BuiltReadModels, buildReadModels, compareReadModels } from "../rebuild/readModelRows.ts";
import { type FullHistory, LATER_ERASED, makeFullHistory } from "./fullHistory.ts";

const MS_MAX = 120_000;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "postledger-portable-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }), MS_MAX);

/** A log and what a command or another process opens it with. */
interface Place {
  readonly env: Readonly<Record<string, string>>;
  readonly log: Dependencies;
}

/** Events about a log's own copies, which differ between copies. */
const COPY_EVENTS: ReadonlySet<string> = new Set(["InstanceCopied", "InstanceRestored", "InstanceResumed"]);

/** All streams of our service as a reader sees them: the last revision and the remaining events. */
async function streamsOf(store: EventStore) {
  const names = new Set<string>();
  const order: string[] = [];
  for await (const { events } of store.readAll(LOG_START, {})) {
    for (const { stream, id, type } of events) {
      if (stream === "import" || COPY_EVENTS.has(type)) continue;
      names.add(stream);
      if (isPortableEvent({ stream, type })) order.push(id);
    }
  }
  const views: Record<string, unknown> = {};
  for (const stream of [...names].filter((name) => name !== "instance").sort()) {
    const events = (await store.read(stream, 0, 10_000)).map(({ position: _, ...event }) => event);
    views[stream] = { last: await store.lastRevision(stream), events };
  }
  return { views, order };
}

/** Leaves out rows that a copy's own audit log adds: that it was imported, copied and resumed. */
function isExpectedDifference({ table, live, rebuilt }: RowDifference): boolean {
  return !(table === "audit_log" && live === null && rebuilt?.stream === "instance");
}

describe.skipIf(!canStartEventStoreDb)("a log that outgrows its machine", () => {
  let source: Place;
  let server: Place;
  let back: Place;
  let history: FullHistory;
  const models: BuiltReadModels[] = [];
  /** Of the seal on all that the source held. */
  let digest = "";

  const audited = (env: Place["env"]) => runJsonCommand(env, "audit", "verify", "--digest", digest);

  async function open(env: Readonly<Record<string, string>>): Promise<Place> {
    return { env, log: await openLog({ HOST: "127.0.0.1", ...env }) };
  }

  beforeAll(async () => {
    const dataDir = join(folder, "source");
    const content = join(folder, "content");
    const service = await startService(
      { name: "SQLite", env: {}, isShared: false },
      { VERIFICATION_FROM: "postmaster@example.net", CONTENT_URL: `file:${join(folder, "source-content")}` },
    );
    history = await makeFullHistory(service);
    await service.app.app.stop();
    await service.log.store.close();
    await cp(service.app.dataDir, dataDir, { recursive: true });
    source = await open({ DATA_DIR: dataDir, CONTENT_URL: `file:${join(folder, "source-content")}` });
    const { json: seal } = await runJsonCommand(source.env, "audit", "seal");
    const { url } = await startEventStoreDb();
    const key = (await readFile(join(dataDir, "master.key"), "utf8")).trim();
    const out = join(folder, "log.zst");
    const exported = await runJsonCommand(
      source.env,
      "log",
      "export",
      "--out",
      out,
      "--freeze",
      "--content",
      content,
    );
    expect(exported).toMatchObject({ exitCode: 0, err: "", json: { frozen: true } });
    expect(exported.json.missing).toBeGreaterThan(history.erased.length);
    const serverSettings = { STORE_URL: url, MASTER_KEY: key, CONTENT_URL: `file:${content}` };
    const onServer = { ...serverSettings, DATA_DIR: join(folder, "server") };
    const { events, missing } = exported.json;
    expect(await runJsonCommand(onServer, "log", "import", out)).toMatchObject({
      exitCode: 0,
      json: { events, missing },
    });
    server = await open(onServer);
    digest = seal.digest;
    for (const { env } of [source, server]) {
      const intact = { findings: 0, chain: { covered: seal.covered } };
      expect(await audited(env)).toMatchObject({ exitCode: 0, err: "", json: intact });
    }

    // The server shows truncated events in the whole log until a scavenge.
    for (const { log } of [source, server]) await log.store.truncateBefore(emailStream(history.later), 1);
    const secondOut = join(folder, "again.zst");
    const secondExport = await runJsonCommand(onServer, "log", "export", "--out", secondOut);
    // Two more events, for the restoration and for the copy, and one less.
    const json = { events: events + 1, missing: missing + 1, frozen: false };
    expect(secondExport).toMatchObject({ exitCode: 0, json });
    for await (const page of readLines(secondOut)) expect(page.join("\n")).not.toContain(LATER_ERASED);
    const embedded = { DATA_DIR: join(folder, "back"), MASTER_KEY: key, CONTENT_URL: `file:${content}` };
    await mkdir(embedded.DATA_DIR);
    expect(await runJsonCommand(embedded, "log", "import", secondOut)).toMatchObject({ exitCode: 0 });
    back = await open(embedded);
  }, MS_MAX);

  afterAll(async () => {
    for (const model of models) model.remove();
    for (const place of [source, server, back]) await place?.log.store.close();
  });

  test(
    "still matches the source's seals, except for what was truncated without a record",
    async () => {
      const shown = [{ kind: "removed", stream: emailStream(history.later), revision: 0 }];
      expect(await audited(back.env)).toMatchObject({ exitCode: 1, json: { findings: 1, shown } });
    },
    MS_MAX,
  );

  test(
    "keeps ids, order, revisions and the rest of each stream on the server and back on a machine",
    async () => {
      const sourceStreams = await streamsOf(source.log.store);
      expect(Object.keys(sourceStreams.views).length).toBeGreaterThan(30);
      expect(await streamsOf(back.log.store)).toEqual(sourceStreams);
      const serverStreams = await streamsOf(server.log.store);
      expect(serverStreams.views).toEqual(sourceStreams.views);
      const known = new Set(sourceStreams.order);
      expect(serverStreams.order.filter((id) => known.has(id))).toEqual(sourceStreams.order);
      for (const { store } of [server.log, back.log]) {
        const [id = ""] = history.erased;
        const [first] = await store.read(emailStream(id), 0, 1);
        expect(first?.revision).toBe(1);
        const event = { id: crypto.randomUUID(), type: EVENT_ERASED, data: {}, metadata: {} };
        const outcome = await store.append(emailStream(id), [event], "noStream");
        expect(outcome.outcome).toBe("wrongExpectedRevision");
      }
    },
    MS_MAX,
  );

  test(
    "has the same rows in every read model once a service runs on it",
    async () => {
      for (const { log } of [server, back]) await resumeDelivery(log.store, systemCommandContext("test"));
      for (const { log } of [source, server, back]) models.push(await buildReadModels(log.store));
      const [here, serverStreams, secondExport] = models as [
        BuiltReadModels,
        BuiltReadModels,
        BuiltReadModels,
      ];
      const { differences, rows } = compareReadModels(here, serverStreams);
      expect(differences.filter(isExpectedDifference)).toEqual([]);
      expect(compareReadModels(here, secondExport).differences.filter(isExpectedDifference)).toEqual([]);
      const empty = [...rows].filter(([, count]) => count === 0).map(([name]) => name);
      // It holds requests that are not applied, and the history has none.
      expect(empty).toEqual(["emails recipient_erasures"]);
    },
    MS_MAX,
  );

  test(
    "cannot be imported a second time, and can no longer be used on the source",
    async () => {
      const refused = await runJsonCommand(server.env, "log", "import", join(folder, "log.zst"));
      expect(refused).toMatchObject({ exitCode: 1, err: expect.stringContaining("not empty") });
      const served = await runJsonCommand({ ...source.env, PORT: "0" }, "serve");
      expect(served).toMatchObject({ exitCode: 1, err: expect.stringContaining("log unfreeze") });
      const created = await runJsonCommand(source.env, "workspace", "create", "lost");
      expect(created).toMatchObject({ exitCode: 1, err: expect.stringContaining("frozen") });
      expect(await runJsonCommand(source.env, "doctor")).toMatchObject({ exitCode: 1 });
    },
    MS_MAX,
  );

  test("finds its content at the copy's new place", async () => {
    const { workspaceId, large } = history;
    const sourceEmail = await readEmail(source.log, { workspaceId, isTest: false }, large);
    expect(sourceEmail?.content?.attachments).toHaveLength(2);
    expect(sourceEmail?.content?.html).toHaveLength(480_000);
    for (const { log } of [server, back])
      expect(await readEmail(log, { workspaceId, isTest: false }, large)).toEqual(sourceEmail);
  });
});
