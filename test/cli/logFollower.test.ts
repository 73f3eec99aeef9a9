import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { cp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { directoryContentStore } from "../../src/adapters/directory/directoryContentStore.ts";
import { readFollowStatus } from "../../src/adapters/directory/followStatusFile.ts";
import type { LogCopy } from "../../src/adapters/sqlite/follow/logCopy.ts";
import type { SourceLog } from "../../src/adapters/sqlite/follow/sourceLog.ts";
import { openSqliteEventStore } from "../../src/adapters/sqlite/sqliteEventStore.ts";
import { ContentFaults } from "../../src/cli/backup/contentFaults.ts";
import { CopyLock } from "../../src/cli/backup/copyLock.ts";
import { EventComparison } from "../../src/cli/backup/eventComparison.ts";
import type { LogFollower } from "../../src/cli/backup/logFollower.ts";
import { withBackup } from "../../src/cli/backup/openBackup.ts";
import { filePath } from "../../src/kernel/contentPath.ts";
import { newId } from "../../src/kernel/ids.ts";
import { MINUTE_MS, rfc3339 } from "../../src/kernel/time.ts";
import { mustAppend, newEvent } from "../contract/eventStore.ts";
import { followerOf } from "../support/followedCopy.ts";
import { runCommand } from "../support/process/runCommand.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";

/** The size of a page of the log's file. */
const PAGE_BYTES = 4_096;

const folder = temporaryFolder();
const locks: CopyLock[] = [];
const releaseLocks = () => {
  for (const lock of locks.splice(0)) lock[Symbol.dispose]();
};
afterAll(async () => {
  releaseLocks();
});

const never = new AbortController().signal;
let data: string;
let copy: string;

const createdAt = async () => (await runCommand(["backup", "verify", copy, "--json"], data)).json.created_at;
const begin = (out: string) => runCommand(["backup", "follow", "--out", out, "--once"], data);

/** A follower of the copy. */
async function follower(): Promise<LogFollower> {
  const lock = new CopyLock(copy);
  locks.push(lock);
  return followerOf({ dataDir: data, copy, lock });
}

/** Adds an event of a stream of its own to the log. */
async function addEvent(event = newEvent(), stream: string = crypto.randomUUID()): Promise<void> {
  const store = openSqliteEventStore({ path: join(data, "events.db") });
  await mustAppend(store, stream, [event], "noStream");
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

  test("a copy of this one, which another follower keeps: it is left alone until that has ended", async () => {
    const one = await follower();
    await one.round(never);
    await cp(copy, `${copy}.other`, { recursive: true });
    await rename(copy, `${copy}.away`);
    await rename(`${copy}.other`, copy);
    await addEvent();
    {
      using other = new CopyLock(copy);
      expect(other.isHeld()).toBe(true);
      await expect(one.round(never)).rejects.toThrow("another `backup follow` keeps the copy in");
    }
    expect(await one.round(never)).toMatchObject({ copied: 1 });
    using other = new CopyLock(copy);
    expect(other.isHeld()).toBe(false);
  });
});

describe("a comparison of events", () => {
  const compare = (one: LogFollower) => one.compareEvents(never, async () => {});
  /** Changes the copy as nobody may. */
  const change = (sql: string, path = join(copy, "events.db")) => {
    using db = new DatabaseSync(path);
    db.exec(sql);
  };

  test("finds one that was changed in the copy, and stays at it until it is the same again", async () => {
    const one = await follower();
    for (const _ of [1, 2]) await addEvent();
    const { events } = await one.round(never);
    expect(await compare(one)).toBeNull();
    change("UPDATE events SET metadata = metadata || '!' WHERE position = 2");
    change(`UPDATE events SET data = '{}' WHERE position = ${events - 1}`);
    expect(await compare(one)).toBe(2);
    await one.round(never);
    releaseLocks();
    // The first round after a restart comes before the comparison.
    const other = await follower();
    await other.round(never);
    expect(await readFollowStatus(copy)).toMatchObject({ comparedTo: 1, differsAt: 2 });
    change("UPDATE events SET metadata = rtrim(metadata, '!') WHERE position = 2");
    expect(await compare(other)).toBe(events - 1);
  });

  test("finds a stream that has another name, and a page that SQLite calls damaged", async () => {
    const one = await follower();
    const texts = Array.from({ length: 20 }, (_, index) => `Event ${index}. `.repeat(150));
    const store = openSqliteEventStore({ path: join(data, "events.db") });
    await mustAppend(
      store,
      "long",
      texts.map((text) => newEvent("Happened", { text })),
      "noStream",
    );
    await store.close();
    const { events } = await one.round(never);
    const path = join(copy, "events.db");
    const bytes = await readFile(path);
    const page = Math.floor(bytes.lastIndexOf("Event 9.") / PAGE_BYTES) * PAGE_BYTES;
    await writeFile(path, bytes.fill(255, page, page + PAGE_BYTES));
    const differsAt = (await compare(one)) ?? 0;
    // The page holds one event or two.
    expect([events - 11, events - 10]).toContain(differsAt);
    releaseLocks();
    expect(await begin(copy)).toMatchObject({ exitCode: 1, err: expect.stringContaining("malformed") });
    expect(await readFollowStatus(copy)).toMatchObject({ differsAt });
    change("UPDATE streams SET name = 'another' WHERE id = 2");
    // Another one begins at the first event then.
    await rm(join(copy, "following.json"));
    expect(await compare(await follower())).toBeLessThan(differsAt);
  });

  test("takes what is truncated in the log, and not yet in the copy, as the same", async () => {
    const one = await follower();
    change(
      "UPDATE events SET id = '', type = '', metadata = '', data = '' WHERE position = 2",
      join(data, "events.db"),
    );
    expect(await compare(one)).toBeNull();
  });

  test("reads a bounded part in a turn, and begins again behind the last event", () => {
    const head = 50_000;
    const page = (after: number) => ({
      streams: [],
      events: Array.from({ length: Math.min(1_000, head - after) }, (_, index) => ({
        position: after + index + 1,
        metadata: "",
        data: "",
      })),
    });
    const source = { page, requireInPlace: () => {} } as unknown as SourceLog;
    const copied = { head: () => head, firstDifference: () => null } as unknown as LogCopy;
    const comparison = new EventComparison(0, null);
    const ends = Array.from({ length: 3 }, () => {
      comparison.begin();
      while (comparison.compareNext(source, copied)) {}
      return comparison.comparedTo;
    });
    expect(ends).toEqual([32_000, 0, 32_000]);
  });
});

test("damage that a round has found is found by the next comparison that does not fail, also beside sound files", async () => {
  const [one, workspaceId, ownerId] = [await follower(), newId(), newId()];
  const compare = async (pause = async () => {}) => {
    const findings = await one.compare(never, pause);
    // As where it has ended behind the last file.
    Object.assign(Reflect.get(one, "content"), { readTo: "~" });
    return findings;
  };
  expect(await compare()).toMatchObject({ faults: { count: 0 } });
  const where = { workspaceId, ownerId, folderId: ownerId };
  const content = directoryContentStore(join(data, "content"));
  await content.put(where, Buffer.from("sound"));
  const path = filePath(where, await content.put(where, Buffer.from("other")));
  await writeFile(join(data, "content", path), "OTHER");
  const uploaded = newEvent("AttachmentUploaded");
  await addEvent({ ...uploaded, metadata: { ...uploaded.metadata, workspaceId } }, `attachment-${ownerId}`);
  await one.round(never);
  await expect(compare(() => Promise.reject(new Error("a failure")))).rejects.toThrow("a failure");
  expect(await compare()).toMatchObject({ faults: { kept: [{ path, what: "damaged" }] } });
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
      () => one.round(never),
      async (log) => (isReleased ? log.release() : undefined),
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
  expect(faults.lines(" here").slice(0, 2)).toEqual([
    "1,501 files of content missing or damaged:",
    "  missing here: path 0",
  ]);
  expect(faults.lines().at(-1)).toBe("  1,481 more");
});
