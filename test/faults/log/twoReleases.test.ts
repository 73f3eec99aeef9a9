import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { projections } from "../../../projections/index.ts";
import { sqliteReadDatabases } from "../../../src/adapters/sqlite/readModelDatabases.ts";
import { type EventStore, LOG_START, type RecordedEvent } from "../../../src/ports/eventStore.ts";
import { openStore } from "../../../src/service/adapters/openStore.ts";
import { readConfig } from "../../../src/service/config/config.ts";
import { sourceCommandLine } from "../../support/process/program.ts";
import { runProcess } from "../../support/process/runProcess.ts";
import { ROOT } from "../../support/root.ts";
import { type Answer, callerOf, startTestProcess, type TestProcess } from "../../support/service.ts";
import { canStartEventStoreDb, startEventStoreDb } from "../../support/stores/eventstoredb.ts";
import { until } from "../../support/until.ts";
import { type RawSink, startRawSink } from "../crash/rawSink.ts";
import { readingRelease, writingRelease } from "./releases.ts";

const TEST_MS_MAX = 180_000;
const WAIT_MS_MAX = 90_000;
/** What each release accepts in each round. */
const MESSAGES = 4;

let readingRoot: string;
let writingRoot: string;
beforeAll(async () => {
  [readingRoot, writingRoot] = await Promise.all([readingRelease(), writingRelease()]);
});
afterAll(() =>
  Promise.all([readingRoot, writingRoot].map((root) => rm(root, { recursive: true, force: true }))),
);

const stores = ["SQLite", ...(canStartEventStoreDb ? ["EventStoreDB"] : [])];

/** A message that was accepted, and what its sender was told. */
interface Sent {
  readonly key: string;
  readonly body: Readonly<Record<string, string>>;
  readonly answer: Answer;
}

describe.each(stores)("releases on one log on %s", (name) => {
  let server: Awaited<ReturnType<typeof startEventStoreDb>> | null = null;
  let sink: RawSink;
  let folder: string;
  let env: Record<string, string>;
  let old: TestProcess;
  let reading: TestProcess;
  let writing: TestProcess;
  let log: EventStore;
  let apiKey = "";
  const sent: Sent[] = [];

  beforeAll(async () => {
    server = name === "EventStoreDB" ? await startEventStoreDb() : null;
    sink = await startRawSink();
    folder = await mkdtemp(join(tmpdir(), "postledger-releases-"));
    env = {
      STORE_URL: server?.url ?? `file:${join(folder, "log")}`,
      CONTENT_URL: `file:${join(folder, "content")}`,
      MASTER_KEY: crypto.getRandomValues(new Uint8Array(32)).toBase64(),
      SMTP_URL: `smtp://127.0.0.1:${sink.port}`,
      BOOTSTRAP: "on",
    };
    old = await start("old", ROOT, "off");
    reading = await start("reading", readingRoot, "on");
    log = await openStore(readConfig(env));
  }, TEST_MS_MAX);

  afterAll(async () => {
    await Promise.all([old, reading, writing].map((service) => service?.kill("SIGKILL")));
    await log?.close();
    await sink?.close();
    await server?.process.kill();
    await rm(folder, { recursive: true, force: true });
  });

  /** All of them are called with the key that the first one got. */
  async function start(directory: string, root: string, delivery: "on" | "off"): Promise<TestProcess> {
    const dataDir = join(folder, directory);
    const service = await startTestProcess({
      program: sourceCommandLine(root),
      dataDir,
      env: { ...env, DELIVERY: delivery },
    });
    apiKey ||= service.apiKey;
    return { ...service, ...callerOf(service.url, apiKey) };
  }

  /** Runs a command of the release at `root` on a data directory. */
  async function command(root: string, directory: string, ...words: readonly string[]) {
    const settings = {
      ...env,
      HOST: "127.0.0.1",
      DATA_DIR: join(folder, directory),
      DISK_FREE_BYTES_MIN: "0",
    };
    const called = [...sourceCommandLine(root), ...words, "--json"];
    const { exitCode, out } = await runProcess(called, { env: { ...process.env, ...settings } });
    return { exitCode, json: out ? JSON.parse(out) : null };
  }

  async function accept(service: TestProcess, label: string): Promise<readonly Sent[]> {
    const bodies = Array.from({ length: MESSAGES }, (_, index) => ({
      from: "hello@example.com",
      to: `${label}-${index}@example.net`,
      subject: label,
      text: "Hello.",
    }));
    const accepted = await Promise.all(
      bodies.map(async (body, index) => {
        const key = `key-of-${label}-${index}`;
        return { key, body, answer: await service.send(key, body) };
      }),
    );
    expect(accepted.map(({ answer }) => answer.status)).toEqual(bodies.map(() => 202));
    sent.push(...accepted);
    return accepted;
  }

  async function delivered(messages: readonly Sent[]): Promise<void> {
    const hasArrived = ({ answer }: Sent) => sink.copiesById.has(answer.json.id);
    await until(() => messages.every(hasArrived), "all mail to be delivered", WAIT_MS_MAX);
    const isSent = async ({ answer }: Sent) => {
      const { json } = await reading.call("GET", `/api/v1/emails/${answer.json.id}`);
      return json.status === "sent";
    };
    for (const message of messages) await until(() => isSent(message), "the outcome", WAIT_MS_MAX);
  }

  /** Checks that accepted requests get their first answer again, changed content conflicts, and each mail went out once. */
  async function expectPromisesKept(service: TestProcess): Promise<void> {
    const expectKept = async ({ key, body, answer }: Sent) => {
      const repeat = await service.send(key, body);
      const replayed = repeat.headers.get("idempotent-replayed");
      expect([repeat.status, repeat.text, replayed]).toEqual([202, answer.text, "true"]);
      expect((await service.send(key, { ...body, subject: "Changed" })).status).toBe(409);
      expect(sink.copiesById.get(answer.json.id)).toHaveLength(1);
    };
    await Promise.all(sent.map(expectKept));
  }

  async function eventsOf(type: string): Promise<readonly RecordedEvent[]> {
    const found: RecordedEvent[] = [];
    for await (const { events } of log.readAll(LOG_START, { types: [type] })) found.push(...events);
    return found;
  }

  /** What a service reports of its read models once all have stopped. */
  async function readModelTrouble(service: TestProcess): Promise<string> {
    let detail = "";
    await until(
      async () => {
        const { status, json } = await service.call("GET", "/health/ready");
        detail = json.checks.read_models.detail;
        return status === 503 && detail.split(";").length >= projections.length;
      },
      "all read models to stop",
      WAIT_MS_MAX,
    );
    return detail;
  }

  /** Every row of every current read model of a data directory. */
  async function rowsOf(root: string, directory: string): Promise<unknown> {
    const { json } = await command(root, directory, "projection", "list");
    return (json as { name: string; file: string; status: string }[])
      .filter(({ status }) => status === "current")
      .map(({ name: model, file }) => {
        const db = sqliteReadDatabases.open(join(folder, directory, "projections", file), "read");
        const tables = projections.find((one) => one.name === model)?.tables ?? [];
        const rows = tables.map(({ name: table, key }) =>
          db.all(`SELECT * FROM ${table} ORDER BY ${key.join(", ")}`),
        );
        db.close();
        return [model, rows];
      });
  }

  test(
    "the next release reads and writes the same events as the previous one: they share the log",
    async () => {
      await delivered([...(await accept(old, "by-old")), ...(await accept(reading, "by-reading"))]);
      await Promise.all([old, reading].map(expectPromisesKept));
      for (const { metadata } of await eventsOf("EmailQueued")) expect(metadata.schema).toBe(1);
      expect(await eventsOf("LogFormatRaised")).toEqual([]);
    },
    TEST_MS_MAX,
  );

  test(
    "commands of the release after that which only read leave the log to both",
    async () => {
      for (const noun of ["api-key", "erasure", "projection", "sender", "suppression", "workspace"])
        expect(await command(writingRoot, "reading", noun, "list")).toMatchObject({ exitCode: 0 });
      expect((await command(writingRoot, "reading", "workspace", "limits")).exitCode).toBe(0);
      expect(await eventsOf("LogFormatRaised")).toEqual([]);
    },
    TEST_MS_MAX,
  );

  test(
    "the release after that writes a new version, which releases that read it deliver, answer and list",
    async () => {
      writing = await start("writing", writingRoot, "off");
      await delivered([...(await accept(reading, "read")), ...(await accept(writing, "written"))]);
      await Promise.all([reading, writing].map(expectPromisesKept));
      const queued = await eventsOf("EmailQueued");
      expect(queued.filter(({ metadata }) => metadata.schema === 1)).toHaveLength(3 * MESSAGES);
      const newer = queued.filter(({ metadata }) => metadata.schema === 2);
      expect(newer).toHaveLength(MESSAGES);
      for (const { data } of newer) {
        expect(data).not.toHaveProperty("fingerprint");
        expect(data).toHaveProperty("request.fingerprint");
      }
      expect((await eventsOf("LogFormatRaised")).map(({ data }) => data)).toEqual([{ format: 2 }]);
    },
    TEST_MS_MAX,
  );

  test(
    "a release that cannot read it stops its read models, reports that, and works on with what it can read",
    async () => {
      expect(await readModelTrouble(old)).toContain(
        "stopped at LogFormatRaised, stream instance, revision 1",
      );
      const newer = sent.findLast(({ body }) => body.subject === "written");
      const answer = await old.call("GET", `/api/v1/emails/${newer?.answer.json.id}`);
      expect(answer).toMatchObject({ status: 500, json: { code: "INTERNAL_ERROR" } });
      expect(old.log()).toMatch(/EmailQueued \(email-[0-9a-f-]+, revision 1\) cannot be read.*version is 2/);
      await delivered(await accept(old, "by-old-still"));

      const newerFormat =
        "events of a newer version of this program follow (format 2, this one reads 1): upgrade";
      for (const isRunning of [true, false]) {
        if (!isRunning) await old.kill("SIGTERM");
        let findings = new Map<string, string>();
        const hasFormatFinding = async () => {
          const { exitCode, json } = await command(ROOT, "old", "doctor");
          expect(exitCode).toBe(1);
          const checks = json as { name: string; detail: string; action: string | null }[];
          findings = new Map(checks.map(({ name, detail, action }) => [name, `${detail}. ${action}`]));
          return findings.get("log format")?.includes("format 2, this one reads 1") ?? false;
        };
        // A running service's view of the log's state may be a second old.
        await until(hasFormatFinding, "doctor to know the log's format");
        expect(findings.get("read model emails")).toContain(newerFormat);
        expect(findings.get("read model emails")).toContain("LogFormatRaised, stream instance, revision 1");
        expect(findings.get("read model emails")).toContain("start the service again");
      }
      const refusal = await start("old", ROOT, "off").catch(String);
      expect(refusal).toContain("the log holds events of a newer version of this program");
      expect((await command(ROOT, "old", "workspace", "create", "other")).exitCode).toBe(2);
    },
    TEST_MS_MAX,
  );

  test(
    "the newest release delivers mail that others accepted, and its new fields trouble no other",
    async () => {
      await Promise.all([reading.kill("SIGTERM"), writing.kill("SIGTERM")]);
      // The outdated release is upgraded: its read models continue where they stopped.
      [old, reading, writing] = await Promise.all([
        start("old", readingRoot, "off"),
        start("reading", readingRoot, "off"),
        start("writing", writingRoot, "on"),
      ]);
      await delivered([
        ...(await accept(reading, "read-again")),
        ...(await accept(writing, "written-again")),
      ]);
      await Promise.all([old, reading, writing].map(expectPromisesKept));
      const withRoute = (await eventsOf("EmailSent")).filter(({ data }) => "route" in data);
      expect(withRoute).toHaveLength(2 * MESSAGES);
      const path = `/api/v1/emails/${withRoute[0]?.stream.slice("email-".length)}`;
      const [one, other] = await Promise.all([reading.call("GET", path), writing.call("GET", path)]);
      expect(one.status).toBe(200);
      expect(one.text).toBe(other.text);
      const lists = await Promise.all(
        [old, reading, writing].map((service) => service.call("GET", "/api/v1/emails")),
      );
      expect(new Set(lists.map(({ text }) => text)).size).toBe(1);
    },
    TEST_MS_MAX,
  );

  test(
    "the read models of all releases are the same, also after each rebuilds them",
    async () => {
      await Promise.all([old, reading, writing].map((service) => service.kill("SIGTERM")));
      const followed = await Promise.all([
        rowsOf(readingRoot, "old"),
        rowsOf(readingRoot, "reading"),
        rowsOf(writingRoot, "writing"),
      ]);
      expect(followed[1]).toEqual(followed[2]);
      expect(followed[0]).toEqual(followed[1]);
      for (const [root, directory] of [
        [readingRoot, "reading"],
        [writingRoot, "writing"],
      ] as const) {
        expect((await command(root, directory, "projection", "rebuild")).exitCode).toBe(0);
        expect(await rowsOf(root, directory)).toEqual(followed[1]);
      }
    },
    TEST_MS_MAX,
  );
});
