import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  type FollowStatus,
  readFollowStatus,
  writeFollowStatus,
} from "../../src/adapters/directory/followStatusFile.ts";
import { LOCK_FILE } from "../../src/adapters/sqlite/directoryLock.ts";
import { CopyReader } from "../../src/adapters/sqlite/follow/copyReader.ts";
import { openSqliteEventStore } from "../../src/adapters/sqlite/sqliteEventStore.ts";
import type { InstanceState } from "../../src/domain/instance/state.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../src/kernel/time.ts";
import { LOG_START } from "../../src/ports/eventStore.ts";
import { followedCopyChecks } from "../../src/service/status/checks/log/followedCopyChecks.ts";
import { mustAppend, newEvent } from "../contract/eventStore.ts";
import { DiskSearch, Markers } from "../support/files/diskSearch.ts";
import { COMMAND_LINE } from "../support/process/program.ts";
import { commandEnv, runCommand } from "../support/process/runCommand.ts";
import { runProcess } from "../support/process/runProcess.ts";
import { startTestApp, type TestApp } from "../support/service.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";
import { until } from "../support/until.ts";

const TEST_MS_MAX = 90_000;
/** More than fits into an event. */
const LARGE_TEXT = "€".repeat(190_000);
/** More than the copy's log takes. */
const FILE_KIB_MAX = 1_024;

let folder: string;
let service: TestApp;
let place: string;

const at = (name: string) => join(folder, name);
const follow = (out: string, dataDir = service.dataDir) =>
  runCommand(["backup", "follow", "--out", out, "--once", "--json"], dataDir);
const verify = (out: string) => runCommand(["backup", "verify", out, "--json"], service.dataDir);
/** The files of content below a directory, as paths below it. */
const contentIn = (directory: string) => [...new Bun.Glob("content/*/*/*/*").scanSync(directory)].sort();

async function accept(key: string, text: string, file: string | null = null): Promise<string> {
  const attachments = [
    { filename: "note.txt", content_type: "text/plain", content: Buffer.from(file ?? "").toString("base64") },
  ];
  const mail = { from: "hello@example.com", to: `${key}@example.net`, subject: key, text };
  const answer = await service.send(`${key}-0001`, { ...mail, ...(file === null ? {} : { attachments }) });
  if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`);
  return answer.json.id;
}

/** The ids of all events in a log that nobody writes. */
async function eventIds(path: string): Promise<readonly string[]> {
  using log = CopyReader.open(path);
  const batches = await Array.fromAsync(log.view().readAll(LOG_START, {}));
  return batches.flatMap(({ events }) => events.map(({ id }) => id));
}

/** A copy of the copy, to damage. */
async function copyOf(name: string): Promise<string> {
  await cp(place, at(name), { recursive: true });
  return at(name);
}

beforeAll(async () => {
  folder = temporaryFolder();
  place = at("copy");
  service = await startTestApp({ env: { DELIVERY: "off" } });
  expect(await follow(place)).toMatchObject({ exitCode: 0, err: "" });
}, TEST_MS_MAX);
afterAll(async () => {
  await service.remove();
});

test(
  "a copy has what was accepted since it was begun, and a restore brings it back without sending any of it",
  async () => {
    await accept("plain", "Hello.");
    await accept("file", "Hello.", "A note.");
    await accept("large", LARGE_TEXT, "Another note.");
    const followed = await follow(place);
    expect(followed).toMatchObject({ exitCode: 0, json: { state: "current", out: place } });
    expect(followed.json.copied).toBeGreaterThan(5);
    expect(await verify(place)).toMatchObject({ exitCode: 0, json: { created_at: followed.json.at } });
    expect(contentIn(place)).toEqual(contentIn(service.dataDir));
    expect(contentIn(place)).toHaveLength(3);

    const restored = at("restored");
    const key = await readFile(join(service.dataDir, "master.key"), "utf8");
    // A new disk has that.
    await mkdir(join(restored, "lost+found"), { recursive: true });
    await writeFile(join(restored, "master.key"), key);
    const result = await runCommand(["backup", "restore", place, "--json"], restored);
    expect(result).toMatchObject({ exitCode: 0, json: { has_key: true, has_content: true } });
    expect(result.json.created_at).toBe(followed.json.at);
    const original = await eventIds(join(place, "events.db"));
    expect((await eventIds(join(restored, "events.db"))).slice(0, -1)).toEqual([...original]);
    expect(contentIn(restored)).toEqual(contentIn(place));
    const again = await startTestApp({ dataDir: restored, env: { DELIVERY: "off" } });
    let resumed = "";
    const isResumed = async () => {
      const { exitCode, out } = await runCommand(["delivery", "resume"], restored);
      resumed = out;
      return exitCode === 0;
    };
    await until(isResumed, "the read models").finally(again.remove);
    expect(resumed).toContain("resumed now: 3 messages");
    expect(resumed).toContain(`after ${followed.json.at}, when the copy was taken`);
    // The restored log goes on with the same copy.
    expect(await follow(place, restored)).toMatchObject({ exitCode: 0, json: { state: "current" } });
    await rm(place, { recursive: true });
    await mkdir(place);
    expect(await follow(place)).toMatchObject({ exitCode: 0 });
  },
  TEST_MS_MAX,
);

test(
  "an erasure leaves nothing in the copy, neither in the log nor in the content",
  async () => {
    const markers = new Markers();
    const id = await accept("erased", `Hello ${markers.word()}.`, `A note: ${markers.word()}.`);
    await follow(place);
    const search = () => {
      const found = new DiskSearch();
      found.searchDirectory(place);
      return markers.all.filter((marker) => found.found.has(marker));
    };
    expect(search()).toEqual(markers.all);
    expect((await service.call("DELETE", `/api/v1/emails/${id}/content`)).status).toBe(200);
    expect(await follow(place)).toMatchObject({ exitCode: 0 });
    expect(search()).toEqual([]);
    expect(await verify(place)).toMatchObject({ exitCode: 0 });
  },
  TEST_MS_MAX,
);

test(
  "what is truncated without another event in its stream reaches the copy by the comparison",
  async () => {
    const [data, copy, markers] = [at("truncated"), at("truncated-copy"), new Markers()];
    await runCommand(["workspace", "create", "Acme"], data);
    const store = openSqliteEventStore({ path: join(data, "events.db") });
    await mustAppend(store, "told", [newEvent("Told", { text: markers.word() }), newEvent()], "noStream");
    const isInCopy = () => {
      const found = new DiskSearch();
      found.searchDirectory(copy);
      return found.found.size > 0;
    };
    expect(await follow(copy, data)).toMatchObject({ exitCode: 0 });
    expect(isInCopy()).toBe(true);
    await store.truncateBefore("told", 1);
    await store.close();
    const { exitCode, json } = await follow(copy, data);
    expect({ exitCode, copied: json.copied }).toEqual({ exitCode: 0, copied: 0 });
    expect(isInCopy()).toBe(false);
    const status = JSON.parse(await readFile(join(copy, "following.json"), "utf8"));
    expect(status).toMatchObject({ at: json.at, events: json.events });
  },
  TEST_MS_MAX,
);

describe("what is wrong at the source", () => {
  test(
    "a content directory that is away takes nothing from the copy",
    async () => {
      await accept("kept", "Hello.", "Kept.");
      await follow(place);
      const before = contentIn(place);
      const content = join(service.dataDir, "content");
      await rename(content, `${content}.away`);
      const away = await follow(place);
      // As where a disk is not mounted.
      await mkdir(content);
      const empty = await follow(place);
      await rm(content, { recursive: true });
      await rename(`${content}.away`, content);
      for (const result of [away, empty]) {
        expect(result.exitCode).toBe(1);
        expect(JSON.parse(result.err).error.message).toContain("the content store is not in its place");
      }
      expect(contentIn(place)).toEqual(before);
      expect(await follow(place)).toMatchObject({ exitCode: 0 });
    },
    TEST_MS_MAX,
  );

  test(
    "a file that the log names is kept in the copy when it is lost, and not copied when it is damaged",
    async () => {
      await accept("lost", "Hello.", "To be lost.");
      await follow(place);
      const before = new Set(contentIn(place));
      await accept("damaged", "Hello.", "To be damaged.");
      const damaged = contentIn(service.dataDir).find((path) => !before.has(path)) ?? "";
      const lost = [...before].at(0) ?? "";
      const taken = await readFile(join(service.dataDir, lost));
      const sound = await readFile(join(service.dataDir, damaged));
      await rm(join(service.dataDir, lost));
      await writeFile(join(service.dataDir, damaged), "Other bytes.");
      const result = await follow(place);
      expect(result.exitCode).toBe(1);
      const below = (path: string) => path.slice("content/".length);
      const found = [
        { path: below(damaged), what: "damaged" },
        { path: below(lost), what: "missing" },
      ];
      expect(result.json).toMatchObject({ faults: found, fault_count: 2 });
      expect(contentIn(place)).toEqual([...before].sort());
      const verified = await verify(place);
      expect(verified).toMatchObject({
        exitCode: 1,
        json: { faults: [{ path: below(damaged), what: "missing" }] },
      });
      await writeFile(join(service.dataDir, lost), taken);
      await writeFile(join(service.dataDir, damaged), sound);
      expect(await follow(place)).toMatchObject({ exitCode: 0 });
      await writeFile(join(place, damaged), "Cut");
      expect(await follow(place)).toMatchObject({ exitCode: 0, json: { repaired: 1 } });
      expect(await verify(place)).toMatchObject({ exitCode: 0 });
    },
    TEST_MS_MAX,
  );
});

test(
  "what is wrong in the copy itself is told as that: a changed event, and a folder that cannot be used",
  async () => {
    await accept("differs", "Hello, here is something to alter.", "In a folder of its own.");
    await follow(place);
    const copy = await copyOf("differs");
    const bytes = await readFile(join(copy, "events.db"));
    bytes.write("anything", bytes.indexOf("something to alter"));
    await writeFile(join(copy, "events.db"), bytes);
    const alone = await follow(copy);
    expect(alone).toMatchObject({ exitCode: 1, json: { differs_at: expect.any(Number) } });
    expect(alone.json).not.toHaveProperty("faults");
    const path = dirname(contentIn(copy)[0] ?? "");
    await rm(join(copy, path), { recursive: true });
    await writeFile(join(copy, path), "in place of a folder");
    const { exitCode, json } = await follow(copy);
    const differing = `event ${json.differs_at} is not the same in the copy and in the log`;
    const faults = [{ path: path.slice("content/".length), what: "unusable" }];
    expect({ exitCode, json }).toMatchObject({
      exitCode: 1,
      json: { differs_at: expect.any(Number), faults, fault_count: 1 },
    });
    const { out } = await runCommand(["backup", "follow", "--out", copy, "--once"], service.dataDir);
    expect(out).toContain("cannot be read or replaced in the copy: ");
    expect(out).toContain("remove it from the copy");
    expect(out).toContain(differing);
  },
  TEST_MS_MAX,
);

test(
  "a disk that does not take a file of the copy is told with the file's name, which the system's error lacks",
  async () => {
    await follow(place);
    await accept("too-large", "Hello.", "x".repeat(2 * FILE_KIB_MAX * 1_024));
    const words = [...COMMAND_LINE, "backup", "follow", "--out", place, "--once"];
    const limited = ["bash", "-c", `trap "" XFSZ; ulimit -f ${FILE_KIB_MAX}; exec "$0" "$@"`, ...words];
    const { exitCode, err } = await runProcess(limited, { env: commandEnv(service.dataDir) });
    expect(exitCode).not.toBe(0);
    expect(err).toContain(`${place}/content/`);
    expect(err).toContain("cannot be used: no file may get so large there");
    expect(await follow(place)).toMatchObject({ exitCode: 0 });
  },
  TEST_MS_MAX,
);

test(
  "what the log names is reported when neither side has it, or the copy has only a link on the way to it",
  async () => {
    await follow(place);
    const before = new Set(contentIn(place));
    await accept("gone-twice", "Hello.", "To be lost on both sides.");
    await follow(place);
    const path = contentIn(place).find((file) => !before.has(file)) ?? "";
    const bytes = await readFile(join(service.dataDir, path));
    const missing = { faults: [{ path: path.slice("content/".length), what: "missing" }], fault_count: 1 };
    for (const depth of [1, 2, 3]) {
      const linked = await copyOf(`linked-${depth}`);
      const folder = path.split("/", 1 + depth).join("/");
      const target = at(`target-${depth}`);
      await rename(join(linked, folder), target);
      await symlink(target, join(linked, folder));
      const verified = await verify(linked);
      expect(verified).toMatchObject({ exitCode: 1 });
      expect(verified.json.faults).toContainEqual(missing.faults[0]);
      // Whether or not its target has the files, and nothing is written there.
      for (const isEmpty of [false, true]) {
        if (isEmpty)
          for (const name of await readdir(target)) await rm(join(target, name), { recursive: true });
        const unusable = {
          faults: [{ path: folder.slice("content/".length), what: "unusable" }],
          fault_count: 1,
        };
        expect(await follow(linked)).toMatchObject({ exitCode: 1, json: unusable });
      }
      expect(await readdir(target)).toEqual([]);
      await rm(join(linked, folder));
      expect(await follow(linked)).toMatchObject({ exitCode: 0 });
    }
    for (const root of [place, service.dataDir]) await rm(join(root, path));
    expect(await follow(place)).toMatchObject({ exitCode: 1, json: missing });
    await writeFile(join(service.dataDir, path), bytes);
    expect(await follow(place)).toMatchObject({ exitCode: 0 });
  },
  TEST_MS_MAX,
);

describe("backup verify and backup restore of a copy", () => {
  test(
    "find changed bytes in the log, in its pages and inside a sealed event",
    async () => {
      await accept("sealed", "Hello, here is something to change.");
      expect(await runCommand(["audit", "seal"], service.dataDir)).toMatchObject({ exitCode: 0 });
      await follow(place);
      const copy = await copyOf("changed");
      const log = join(copy, "events.db");
      const bytes = await readFile(log);
      const found = bytes.indexOf("something to change");
      expect(found).toBeGreaterThan(0);
      const changed = Buffer.from(bytes);
      changed[found] = "S".charCodeAt(0);
      await writeFile(log, changed);
      const sealed = await verify(copy);
      expect(sealed.exitCode).toBe(1);
      expect(JSON.parse(sealed.err).error.message).toMatch(
        /^events\.db is not as it was sealed: email-.*@0: /,
      );
      // The number of cells of a page.
      changed.set(bytes);
      changed[4_096 * 2 + 3] = 255;
      await writeFile(log, changed);
      const page = await verify(copy);
      expect(page.exitCode).toBe(1);
      expect(JSON.parse(page.err).error.message).toMatch(/events\.db/);
      const restored = await runCommand(["backup", "restore", copy], at("never"));
      expect(restored.exitCode).toBe(1);
      expect(existsSync(at("never/events.db"))).toBe(false);
    },
    TEST_MS_MAX,
  );

  test(
    "name damaged and missing content, which does not stop a restore of the rest",
    async () => {
      const before = new Set(contentIn(place));
      await accept("one", "Hello.", "One.");
      await accept("two", "Hello.", "Two.");
      await follow(place);
      const copy = await copyOf("lacking");
      // Of messages whose events name them: damaged content could not name its files.
      const [one = "", two = ""] = contentIn(copy).filter((path) => !before.has(path));
      await writeFile(join(copy, one), "Other bytes.");
      await rm(join(copy, two));
      const below = (path: string) => path.slice("content/".length);
      const faults = [
        { path: below(one), what: "damaged" },
        { path: below(two), what: "missing" },
      ];
      expect(await verify(copy)).toMatchObject({ exitCode: 1, json: { faults } });
      const target = at("lacking-restored");
      await mkdir(target);
      await cp(join(service.dataDir, "master.key"), join(target, "master.key"));
      const restored = await runCommand(["backup", "restore", copy], target);
      expect(restored).toMatchObject({ exitCode: 1 });
      expect(restored.out).toContain("2 files of content missing or damaged");
      expect(contentIn(target)).toEqual(contentIn(copy).filter((path) => path !== one));
      await rm(join(copy, "content", "identity"));
      expect((await verify(copy)).err).toContain("the content store is not in its place");
    },
    TEST_MS_MAX,
  );
});

describe("a copy is left as it is", () => {
  const bytesOf = async (copy: string) =>
    existsSync(join(copy, "events.db")) ? readFile(join(copy, "events.db")) : null;
  const refused = async (out: string, dataDir?: string) => {
    const before = await bytesOf(out);
    const result = await follow(out, dataDir);
    expect(result).toMatchObject({ exitCode: 1 });
    expect(await bytesOf(out)).toEqual(before);
    return JSON.parse(result.err).error.message as string;
  };

  test(
    "when it is of another log, a plain backup, or no backup",
    async () => {
      const other = at("other");
      await runCommand(["workspace", "create", "Acme"], other);
      expect(await refused(place, other)).toContain("holds a copy of another log");
      await runCommand(["backup", "create", "--out", at("plain")], other);
      expect(await refused(at("plain"), other)).toContain("holds a backup of `backup create`");
      expect(await refused(other, other)).toContain("there is no backup in");
      expect(await refused(at("no/such"), other)).toContain(`there is no directory ${at("no")}`);
    },
    TEST_MS_MAX,
  );

  test(
    "when it holds what the log lacks, also once the log has grown past it",
    async () => {
      const [data, older, copy] = [at("data"), at("older"), at("newer-copy")];
      const create = (name: string, dataDir: string) => runCommand(["workspace", "create", name], dataDir);
      await create("First", data);
      await runCommand(["backup", "create", "--out", older, "--with-key"], data);
      await create("Second", data);
      expect(await follow(copy, data)).toMatchObject({ exitCode: 0 });
      const back = at("back");
      await runCommand(["backup", "restore", older], back);
      const said = /holds \d+ events that the log lacks: the log was restored from an older copy/;
      expect(await refused(copy, back)).toMatch(said);
      for (let count = 0; count < 5; count += 1) await create(`Later ${count}`, back);
      expect(await refused(copy, back)).toMatch(said);
      expect(await follow(copy, data)).toMatchObject({ exitCode: 0 });
    },
    TEST_MS_MAX,
  );

  test(
    "when its directory is gone: none is made in its place until an empty one is there",
    async () => {
      const [data, copy] = [at("gone-data"), at("gone")];
      await runCommand(["workspace", "create", "Acme"], data);
      expect(await follow(copy, data)).toMatchObject({ exitCode: 0 });
      await rename(copy, `${copy}.away`);
      const result = await follow(copy, data);
      expect(JSON.parse(result.err).error.message).toContain("is its disk mounted?");
      expect(existsSync(copy)).toBe(false);
      await mkdir(copy);
      expect(await follow(copy, data)).toMatchObject({ exitCode: 0 });
      const recorded = await runCommand(["audit", "log", "--json"], data);
      const created = recorded.json.filter(({ action }: { action: string }) => action === "backup.created");
      expect(created.map(({ details }: { details: unknown }) => details)).toEqual([
        { place: copy },
        { place: copy, following: true },
        { place: copy },
      ]);
      expect((await readdir(copy)).sort()).toEqual([
        "content",
        "events.db",
        "following.json",
        LOCK_FILE,
        "manifest.jsonl",
      ]);
    },
    TEST_MS_MAX,
  );
});

test(
  "doctor says how far the copy is behind, and no fault of one that it cannot read",
  async () => {
    const [data, copy] = [at("doctor"), at("doctor-copy")];
    await runCommand(["workspace", "create", "Acme"], data);
    await follow(copy, data);
    const check = async () => {
      const { json } = await runCommand(["doctor", "--json"], data);
      return json.find(({ name }: { name: string }) => name === "followed copy");
    };
    expect(await check()).toMatchObject({ status: "ok", detail: `the copy in ${copy} is current` });
    expect(await readFollowStatus(copy)).toMatchObject({ everyMs: null });
    await runCommand(["workspace", "create", "Second"], data);
    expect(await check()).toMatchObject({
      status: "ok",
      detail: expect.stringMatching(/ s \/ \d events? behind$/),
    });
    await rename(copy, `${copy}.away`);
    expect(await check()).toMatchObject({
      status: "ok",
      detail: expect.stringContaining("cannot be read from here"),
    });
  },
  TEST_MS_MAX,
);

test("doctor warns when nobody has brought the copy up to date for as long as its rounds allow, and the log went on", async () => {
  const [copy, store] = [at("silent"), openSqliteEventStore({ path: at("silent.db") })];
  await mkdir(copy);
  // Its events are dated long ago.
  await mustAppend(store, "a", [newEvent(), newEvent()], "noStream");
  const one = { kind: "backup", at: 0, place: copy, following: true } as const;
  const instance = { logId: "log", frozenAt: null, copies: [one] } as unknown as InstanceState;
  const checkAt = async (ageMs: number, told: Partial<FollowStatus> = {}) => {
    const at = new Date(Date.now() - ageMs).toISOString();
    await writeFollowStatus(copy, { logId: "log", at, events: 1, ...told });
    const [check] = await followedCopyChecks({ config: { storeUrl: `file:${folder}` }, store, instance });
    return check;
  };
  const behind = expect.stringMatching(/ days \/ 1 event behind$/);
  expect(await checkAt(50_000)).toMatchObject({ status: "ok", detail: behind });
  expect(await checkAt(70_000)).toMatchObject({ status: "warning", detail: behind });
  for (const [everyMs, okMs, silentMs] of [
    [SECOND_MS, 50_000, 70_000],
    [10 * MINUTE_MS, 29 * MINUTE_MS, 31 * MINUTE_MS],
    [null, 23 * HOUR_MS, 25 * HOUR_MS],
  ] as const) {
    expect(await checkAt(okMs, { everyMs })).toMatchObject({ status: "ok", detail: behind });
    expect(await checkAt(silentMs, { everyMs })).toMatchObject({ status: "warning", detail: behind });
  }
  expect(await checkAt(0, { differsAt: 1 })).toMatchObject({
    status: "warning",
    detail: expect.stringContaining("event 1 is not the same in the copy in"),
  });
  const other = await checkAt(70_000, { logId: "other" });
  expect(other).toMatchObject({ detail: expect.stringContaining("another log") });
  await store.close();
});

test.each(["0s", "61m", "soon"])("--every %s is refused", async (every) => {
  const words = ["backup", "follow", "--out", at("unused"), "--every", every];
  const result = await runCommand(words, service.dataDir);
  expect(result).toMatchObject({ exitCode: 2 });
  expect(result.err).toContain("--every takes a time from 1s to 1h");
});
