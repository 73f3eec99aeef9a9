import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSqliteEventStore } from "../../src/adapters/sqlite/sqliteEventStore.ts";
import { LOG_START } from "../../src/ports/eventStore.ts";
import { COMMAND_LINE } from "../support/process/program.ts";
import { commandEnv, runCommand } from "../support/process/runCommand.ts";
import { callerOf, startTestProcess, type TestProcess } from "../support/service.ts";
import { until } from "../support/until.ts";

const MS_MAX = 180_000;
const KILLS = 3;
/** Messages between two kills. */
const MESSAGES = 40;
/** Every so many of them has a file. */
const FILE_EVERY = 4;

let folder: string;
let dataDir: string;
let service: TestProcess;
const followers: { kill(): void }[] = [];

const copy = () => join(folder, "copy");
const start = async () => startTestProcess({ dataDir, env: { DELIVERY: "off" } });

/** A follower in a process of its own; `lines` are the states that it has printed. */
function startFollower(out = copy()) {
  const child = Bun.spawn([...COMMAND_LINE, "backup", "follow", "--out", out, "--json"], {
    env: commandEnv(dataDir),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  let printed = "";
  const drain = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) printed += decoder.decode(chunk, { stream: true });
  };
  void drain();
  const lines = () =>
    printed
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  const kill = async (signal: "SIGKILL" | "SIGTERM" = "SIGKILL") => {
    child.kill(signal);
    return child.exited;
  };
  followers.push({ kill: () => child.kill("SIGKILL") });
  const isCurrent = () => lines().some(({ state }) => state === "current");
  return { lines, kill, isCurrent, error: () => new Response(child.stderr).text(), exited: child.exited };
}

/** How many events are in the copy, by its status. */
const eventsIn = async (out = copy()) =>
  existsSync(join(out, "following.json"))
    ? JSON.parse(await readFile(join(out, "following.json"), "utf8")).events
    : 0;

async function headOf(path: string): Promise<number> {
  const store = openSqliteEventStore({ path });
  const head = Number(await store.head());
  await store.close();
  return head;
}

async function accept(key: string, hasFile: boolean): Promise<string | null> {
  const attachments = [
    {
      filename: "note.txt",
      content_type: "text/plain",
      content: Buffer.from(`Note ${key}`).toString("base64"),
    },
  ];
  const mail = { from: "hello@example.com", to: `${key}@example.net`, subject: key, text: "Hello." };
  const answer = await service
    .send(`${key}-key`, { ...mail, ...(hasFile ? { attachments } : {}) })
    .catch(() => null);
  return answer?.status === 202 ? answer.json.id : null;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "postledger-followed-"));
  dataDir = join(folder, "data");
  service = await start();
}, MS_MAX);
afterAll(async () => {
  for (const follower of followers) follower.kill();
  await service.kill("SIGKILL");
  await rm(folder, { recursive: true });
}, MS_MAX);

test(
  "follower and service are killed again and again, and the copy has each message of the last round with its file",
  async () => {
    const accepted: string[] = [];
    for (let kill = 0; kill < KILLS; kill += 1) {
      const follower = startFollower();
      const before = await eventsIn();
      for (let index = 0; index < MESSAGES; index += 1) {
        const id = await accept(`m-${kill}-${index}`, index % FILE_EVERY === 0);
        if (id !== null) accepted.push(id);
      }
      await until(async () => (await eventsIn()) > before, "a round");
      // At any point of a round: it is busy with what comes now.
      let answered = 0;
      const sending = Array.from({ length: MESSAGES }, async (_, index) => {
        const id = await accept(`k-${kill}-${index}`, true);
        answered += 1;
        return id;
      });
      const busy = Promise.all(sending);
      await until(() => answered >= (kill * MESSAGES) / KILLS, "some of them");
      await follower.kill();
      for (const id of await busy) if (id !== null) accepted.push(id);
      if (kill % 2 === 1) {
        await service.kill("SIGKILL");
        service = await start();
      }
      const verified = await runCommand(["backup", "verify", copy(), "--json"], dataDir);
      expect(verified).toMatchObject({ exitCode: 0, err: "" });
    }
    const last = startFollower();
    await until(() => last.isCurrent(), "the copy to be current");
    await until(
      async () => (await eventsIn()) === (await headOf(join(dataDir, "events.db"))),
      "the last round",
    );
    await service.kill("SIGKILL");
    expect(await last.kill("SIGTERM")).toBe(0);
    expect(last.lines().at(-1)).toMatchObject({ state: "ended" });

    const restored = join(folder, "restored");
    await mkdir(restored);
    await cp(join(dataDir, "master.key"), join(restored, "master.key"));
    expect(await runCommand(["backup", "restore", copy()], restored)).toMatchObject({ exitCode: 0, err: "" });
    const store = openSqliteEventStore({ path: join(restored, "events.db") });
    const types = ["EmailQueued", "EmailSent", "EmailDeliveryStarted"];
    const events = (await Array.fromAsync(store.readAll(LOG_START, { types }))).flatMap(
      (batch) => batch.events,
    );
    await store.close();
    const ids = events
      .filter(({ type }) => type === "EmailQueued")
      .map(({ stream }) => stream.slice("email-".length));
    expect(accepted.filter((id) => !ids.includes(id))).toEqual([]);
    expect(accepted.length).toBeGreaterThan(KILLS * MESSAGES);
    const content = (directory: string) => [...new Bun.Glob("content/*/*/*/*").scanSync(directory)].sort();
    expect(content(restored)).toEqual(content(dataDir));
    // With delivery on, the restored log sends none of it.
    const again = await startTestProcess({ dataDir: restored });
    try {
      await until(
        async () => (await again.call("GET", "/health/ready")).json.checks.delivery?.ok === false,
        "readiness to say that work is held",
      );
      expect(existsSync(join(restored, "outbox"))).toBe(false);
      const { json } = await callerOf(again.url, service.apiKey).call("GET", `/api/v1/emails/${accepted[0]}`);
      expect(json).toMatchObject({ status: "queued" });
    } finally {
      await again.kill("SIGKILL");
    }
    service = await start();
  },
  MS_MAX,
);

test(
  "one follower at a time keeps a copy; it waits while its disk is away, and says so once",
  async () => {
    const out = join(folder, "single");
    const follower = startFollower(out);
    await until(() => follower.isCurrent(), "the first copy");
    const second = await runCommand(["backup", "follow", "--out", out, "--once"], dataDir);
    expect(second).toMatchObject({ exitCode: 1 });
    expect(second.err).toContain("another `backup follow` keeps the copy");
    // Its verification works meanwhile.
    expect(await runCommand(["backup", "verify", out], dataDir)).toMatchObject({ exitCode: 0, err: "" });

    await rename(out, `${out}.away`);
    await accept("while-away", true);
    await until(() => follower.lines().some(({ state }) => state === "failing"), "a failing round");
    expect(existsSync(out)).toBe(false);
    await rename(`${out}.away`, out);
    const isCurrentAgain = () => follower.lines().filter(({ state }) => state === "current").length > 1;
    await until(isCurrentAgain, "a working round");
    const states = follower.lines().map(({ state }) => state);
    expect(states.slice(0, 3)).toEqual(["copied", "following", "current"]);
    const errors = follower
      .lines()
      .filter(({ state, task }) => state === "failing" && task === "follow")
      .map(({ error }) => error);
    expect(errors.length).toBeGreaterThan(0);
    // Each reason once: the disk may have gone away between the log and its content.
    expect(errors).toEqual([...new Set(errors)]);
    expect(await follower.kill("SIGTERM")).toBe(0);
    expect(await eventsIn(out)).toBe(await headOf(join(dataDir, "events.db")));
  },
  MS_MAX,
);

test(
  "a follower that runs compares the events as well, and says which one differs",
  async () => {
    const out = join(folder, "differing");
    await runCommand(["backup", "follow", "--out", out, "--once"], dataDir);
    {
      using db = new DatabaseSync(join(out, "events.db"));
      db.exec("UPDATE events SET metadata = metadata || '!' WHERE position = 2");
    }
    const follower = startFollower(out);
    const differing = { state: "events", differs_at: 2 };
    await until(() => follower.lines().some((line) => Bun.deepEquals(line, differing)), "the event");
    expect(await follower.kill("SIGTERM")).toBe(0);
  },
  MS_MAX,
);
