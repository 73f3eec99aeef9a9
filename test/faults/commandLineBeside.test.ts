import { afterAll, beforeAll, expect, test } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { sqliteReadDatabases } from "../../src/adapters/sqlite/readModelDatabases.ts";
import { lastAcceptedMs } from "../support/lastAcceptedMs.ts";
import { runProgram } from "../support/process/runCommand.ts";
import { callerOf, startTestProcess, type TestProcess } from "../support/service.ts";
import { until } from "../support/until.ts";
import { Load } from "./crash/load.ts";
import { type RawSink, startRawSink } from "./crash/rawSink.ts";
import { waitUntilTerminal } from "./crash/settle.ts";

const TEST_MS_MAX = 120_000;
const TERMINAL_MS_MAX = 90_000;
/** A revocation holds everywhere within this time. */
const REVOKED_MS_MAX = 1_000;
const REPEATS = 50;

interface Listing {
  readonly name: string;
  readonly status: string;
  readonly file: string;
  readonly number: number;
  readonly rows: number;
}

let sink: RawSink;
let service: TestProcess;
let load: Load;

beforeAll(async () => {
  sink = await startRawSink();
  service = await startTestProcess({ env: { SMTP_URL: `smtp://127.0.0.1:${sink.port}` } });
  load = new Load({ posters: 6, backlog: (accepted) => accepted - sink.copiesById.size });
  load.backlogMax = 300;
  load.setTarget(service);
});

afterAll(async () => {
  await service?.kill("SIGKILL");
  await sink?.close();
  if (service) await rm(service.dataDir, { recursive: true, force: true });
});

/** Runs one command of the command line on the service's own data directory. */
function run(...words: string[]) {
  return runProgram([...words, "--json"], service.dataDir);
}

/** Does the work under load, and checks that no request failed because of it. */
async function underLoad(work: () => Promise<void>): Promise<void> {
  const before = load.posts.length;
  load.start();
  try {
    await work();
  } finally {
    await load.stop();
  }
  const during = load.posts.slice(before);
  expect(during.length).toBeGreaterThan(10);
  expect(load.problems).toEqual([]);
  expect(load.unavailable).toBe(0);
  expect(during.filter(({ receipt, wasInterrupted }) => receipt === null || wasInterrupted)).toEqual([]);
}

test(
  "a workspace, a sender and keys created on the command line work at once in a service under load",
  () =>
    underLoad(async () => {
      const workspace = await run("workspace", "create", "second");
      expect(workspace).toMatchObject({ exitCode: 0, err: "" });
      const inWorkspace = ["--workspace", workspace.json.id] as const;
      expect((await run("sender", "add", "second@example.com", ...inWorkspace)).exitCode).toBe(0);
      expect((await run("sender", "verify", "second@example.com", ...inWorkspace)).exitCode).toBe(0);
      const issued = await run("api-key", "create", ...inWorkspace, "--all-scopes");
      expect(issued.exitCode).toBe(0);
      const caller = callerOf(service.url, issued.json.key);
      const body = { from: "second@example.com", to: "you@example.net", subject: "Second", text: "Hello." };
      expect((await caller.send("second-key-1", body)).status).toBe(202);
      expect((await run("api-key", "revoke", issued.json.id)).exitCode).toBe(0);
      const isAccepted = async () => (await caller.send("second-key-1", body)).status !== 401;
      expect(await lastAcceptedMs(isAccepted, "the key to be refused")).toBeLessThan(REVOKED_MS_MAX);
    }),
  TEST_MS_MAX,
);

test(
  "read models can be listed, rebuilt and verified under load, and replays answer the same afterwards",
  async () => {
    await underLoad(async () => {
      const listed = await run("projection", "list");
      expect(listed).toMatchObject({ exitCode: 0, err: "" });
      const before = currentOf(listed.json);
      const rebuilt = await run("projection", "rebuild");
      expect(rebuilt).toMatchObject({ exitCode: 0, err: "" });
      await until(async () => {
        const after = currentOf((await run("projection", "list")).json);
        return [...before].every(([name, { number }]) => (after.get(name)?.number ?? 0) > number);
      }, "the service to switch to the rebuilt read model");
      await replayOne();
      const verified = await run("projection", "verify");
      expect(verified.json.differences).toEqual([]);
      expect(verified).toMatchObject({ exitCode: 0, err: "" });
    });
    expect(await waitUntilTerminal(service, load.posts, TERMINAL_MS_MAX)).toEqual([]);
    expect([...sink.copiesById.values()].filter((copies) => copies.length > 1)).toEqual([]);
  },
  TEST_MS_MAX,
);

test(
  "a difference in a read model's file is found beside the running service, and a rebuild repairs it",
  async () => {
    const emails = currentOf((await run("projection", "list")).json).get("emails");
    const db = sqliteReadDatabases.open(join(service.dataDir, "projections", emails?.file ?? ""), "write");
    const id = load.posts[0]?.receipt?.id ?? "";
    db.run("UPDATE emails SET status = 'bounced' WHERE id = ?", id);
    db.close();
    const found = await run("projection", "verify");
    expect(found.exitCode).toBe(1);
    expect(found.json.differences).toHaveLength(1);
    expect(found.json.differences[0]).toMatchObject({ projection: "emails", table: "emails" });
    expect((await run("projection", "rebuild", "emails")).exitCode).toBe(0);
    await until(
      async () => (await run("projection", "verify", "emails")).exitCode === 0,
      "the rebuilt read model to be in use",
    );
  },
  TEST_MS_MAX,
);

function currentOf(listing: readonly Listing[]): ReadonlyMap<string, Listing> {
  return new Map(listing.filter(({ status }) => status === "current").map((one) => [one.name, one]));
}

/** Repeats the first accepted send many times at once; every answer must be the first one. */
async function replayOne(): Promise<void> {
  const post = load.posts[0];
  if (!post) throw new Error("nothing was sent yet");
  const body = {
    from: "hello@example.com",
    to: post.to,
    subject: post.subject,
    text: `This is ${post.subject}.`,
  };
  const answers = await Promise.all(Array.from({ length: REPEATS }, () => service.send(post.key, body)));
  for (const { status, json, headers } of answers) {
    expect(status).toBe(202);
    expect(json).toMatchObject(post.receipt ?? {});
    expect(headers.get("idempotent-replayed")).toBe("true");
  }
}
