import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { cp, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { readFollowStatus } from "../../src/adapters/directory/followStatusFile.ts";
import { openSqliteEventStore } from "../../src/adapters/sqlite/sqliteEventStore.ts";
import { readBackupFacts } from "../../src/cli/backup/backupManifest.ts";
import { ContentFaults } from "../../src/cli/backup/contentFaults.ts";
import { LogFollower } from "../../src/cli/backup/logFollower.ts";
import { withBackup } from "../../src/cli/backup/openBackup.ts";
import { MINUTE_MS, rfc3339 } from "../../src/kernel/time.ts";
import type { Config } from "../../src/service/config/config.ts";
import { mustAppend, newEvent } from "../contract/eventStore.ts";
import { runCommand } from "../support/process/runCommand.ts";

const folder = await mkdtemp(join(tmpdir(), "postledger-follower-"));
afterAll(() => rm(folder, { recursive: true }));

const never = new AbortController().signal;
let data: string;
let copy: string;

const createdAt = async () => (await runCommand(["backup", "verify", copy, "--json"], data)).json.created_at;
const begin = (out: string) => runCommand(["backup", "follow", "--out", out, "--once"], data);

/** A follower of the copy, in this process. */
async function follower(): Promise<LogFollower> {
  const content = { kind: "directory", directory: join(data, "content") };
  const config = { storeUrl: `file:${data}`, content } as unknown as Config;
  const facts = await readBackupFacts(copy);
  return new LogFollower({ config, directory: copy, facts, everyMs: MINUTE_MS, readTo: "" });
}

/** Adds an event of a stream of its own to the log. */
async function addEvent(): Promise<void> {
  const store = openSqliteEventStore({ path: join(data, "events.db") });
  await mustAppend(store, crypto.randomUUID(), [newEvent()], "noStream");
  await store.close();
}

beforeEach(async () => {
  data = join(folder, crypto.randomUUID());
  copy = `${data}-copy`;
  await runCommand(["workspace", "create", "Acme"], data);
  expect(await begin(copy)).toMatchObject({ exitCode: 0, err: "" });
});

describe("what is in the place of something else is noticed by the next round", () => {
  test("another log of the same length", async () => {
    const one = await follower();
    await addEvent();
    const { events } = await one.round(never);
    expect(await one.round(never)).toMatchObject({ copied: 0, events });
    {
      using db = new DatabaseSync(join(data, "events.db"));
      db.prepare("UPDATE events SET id = ? WHERE position = ?").run(crypto.randomUUID(), events);
    }
    await expect(one.round(never)).rejects.toThrow("holds 1 event that the log lacks");
  });

  test("an older copy, which the disk of this one hid: it stays as it is", async () => {
    const older = `${data}-older`;
    await begin(older);
    const one = await follower();
    await one.round(never);
    await addEvent();
    const before = await readFile(join(older, "events.db"));
    await rename(copy, `${copy}.away`);
    await rename(older, copy);
    await expect(one.round(never)).rejects.toThrow("the copy is not in its place");
    expect(await readFile(join(copy, "events.db"))).toEqual(before);
    await rename(copy, older);
    await rename(`${copy}.away`, copy);
    expect(await one.round(never)).toMatchObject({ copied: 1 });
  });
});

test("an older state of the same copy in its place is brought up to date, and not called intact before", async () => {
  const older = `${data}-older`;
  await cp(copy, older, { recursive: true });
  const one = await follower();
  await addEvent();
  const { events } = await one.round(never);
  await cp(join(copy, "following.json"), join(older, "following.json"));
  await rename(copy, `${copy}.away`);
  await rename(older, copy);
  const { err } = await runCommand(["backup", "verify", copy], data);
  expect(err).toContain("events.db has fewer events than the status of the copy tells");
  expect(await one.round(never)).toMatchObject({ copied: 1, events });
});

test("a status that is not as we write it is as none", async () => {
  const path = join(copy, "following.json");
  const status = JSON.parse(await readFile(path, "utf8"));
  const at = rfc3339(Date.now() + MINUTE_MS);
  for (const changed of [{ at }, { at: "2026" }, { events: -1 }, { readTo: "x".repeat(5_000) }]) {
    await writeFile(path, JSON.stringify({ ...status, ...changed }));
    expect(await readFollowStatus(copy)).toBeNull();
  }
  await rm(path);
  expect(Bun.spawnSync(["mkfifo", path]).success).toBe(true);
  expect(await readFollowStatus(copy)).toBeNull();
  expect(await runCommand(["backup", "verify", copy], data)).toMatchObject({ exitCode: 0 });
});

test("a copy whose list is damaged is not brought up to date", async () => {
  const path = join(copy, "manifest.jsonl");
  const [first] = (await readFile(path, "utf8")).split("\n");
  await writeFile(path, `${first}\n`);
  const { exitCode, err } = await begin(copy);
  expect({ exitCode, err }).toMatchObject({
    exitCode: 1,
    err: expect.stringContaining("cut short or damaged"),
  });
});

test("the files by which the copy's content is known are put back", async () => {
  const [identity, log] = ["identity", "log"].map((name) => join(copy, "content", name)) as [string, string];
  await writeFile(log, "another");
  const verified = await runCommand(["backup", "verify", copy, "--json"], data);
  expect(verified).toMatchObject({ exitCode: 1, json: { faults: [{ path: "log", what: "damaged" }] } });
  await rm(identity);
  expect(await begin(copy)).toMatchObject({ exitCode: 0, err: "" });
  for (const path of [identity, log])
    expect(await readFile(path, "utf8")).toBe(await readFile(path.replace(copy, data), "utf8"));
});

test("without a status, a copy is as of its newest event, and not of its beginning", async () => {
  const begun = await createdAt();
  await runCommand(["workspace", "create", "Second"], data);
  await begin(copy);
  const current = await createdAt();
  await writeFile(join(copy, "following.json"), "{");
  const newest = await createdAt();
  expect(newest > begun && newest < current).toBe(true);
});

test("a copy does not change while its log is checked, but may once that is released", async () => {
  const one = await follower();
  await addEvent();
  const check = (isReleased: boolean) =>
    withBackup(
      copy,
      { onFile: () => {}, onLog: async (log) => (isReleased ? log.release() : undefined) },
      () => one.round(never),
    );
  await expect(check(false)).rejects.toThrow("is in use by another process, such as `backup verify`");
  expect(await check(true)).toMatchObject({ copied: 1 });
});

test("faults beyond the first thousand are counted", () => {
  const faults = new ContentFaults();
  faults.add(
    "missing",
    Array.from({ length: 1_500 }, (_, index) => `path ${index}`),
  );
  faults.add("damaged", ["path"]);
  expect(faults.kept).toHaveLength(1_000);
  expect(faults.json()).toMatchObject({ fault_count: 1_501 });
  expect(faults.lines(" here").at(0)).toBe("1,501 files of content missing or damaged here:");
  expect(faults.lines().at(-1)).toBe("  1,481 more");
});
