import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LOCK_FILE } from "../../src/adapters/sqlite/directoryLock.ts";
import { CopyLock } from "../../src/cli/backup/copyLock.ts";
import { type FollowTask, followLoop } from "../../src/cli/backup/followLoop.ts";
import { followerOf } from "../support/followedCopy.ts";
import { runCommand, runProgram } from "../support/process/runCommand.ts";
import { startTestApp, startTestProcess, type TestApp, type TestProcess } from "../support/service.ts";
import { until } from "../support/until.ts";

const TEST_MS_MAX = 120_000;
const MIB = 1_048_576;
/** The size of a file of a message. */
const FILE_BYTES = 300_000;

/** Mounts a file system of that size in memory; false where this user may not. */
function mount(directory: string, size: string): boolean {
  return Bun.spawnSync(["mount", "-t", "tmpfs", "-o", `size=${size}`, "tmpfs", directory]).success;
}

function unmount(directory: string): void {
  Bun.spawnSync(["umount", "-l", directory]);
}

const disk = mkdtempSync(join(tmpdir(), "postledger-disk-"));
const isMounted = mount(disk, "48m");
afterAll(() => {
  if (isMounted) unmount(disk);
  rmSync(disk, { recursive: true });
});

/** Fills the disk until only `bytes` are free. */
function leave(bytes: number): void {
  const filler = join(disk, "filler");
  writeFileSync(filler, "");
  const { bavail, bsize } = statfsSync(disk);
  const size = bavail * bsize - bytes;
  if (size > 0) writeFileSync(filler, Buffer.alloc(size));
}

function linesOf(service: TestProcess, text: string): readonly string[] {
  return service
    .log()
    .split("\n")
    .filter((line) => line.includes(text));
}

/** The files of content below a directory. */
const contentIn = (directory: string) => [...new Bun.Glob("content/*/*/*/*").scanSync(directory)];

/** Accepts a message with a file. */
function accept(service: TestApp, to: string) {
  const content = Buffer.alloc(FILE_BYTES, to).toString("base64");
  const attachments = [{ filename: "note.txt", content_type: "text/plain", content }];
  const mail = { from: "hello@example.com", to, subject: "Hello", text: "Hello." };
  return service.send(`${to}-key`, { ...mail, attachments });
}

const LOW = "less free space than DISK_FREE_BYTES_MIN";
const ENOUGH = "has enough free space again";

describe.skipIf(!isMounted)("on a disk that fills up", () => {
  test(
    "a copy that is to be followed there is refused in one line",
    async () => {
      const dataDir = mkdtempSync(join(tmpdir(), "postledger-followed-"));
      const copy = join(disk, "copy");
      const follow = () => runCommand(["backup", "follow", "--out", copy, "--once"], dataDir);
      await runCommand(["workspace", "create", "Acme"], dataDir);
      expect(await follow()).toMatchObject({ exitCode: 0 });
      rmSync(join(copy, LOCK_FILE));
      leave(0);
      const { exitCode, err } = await follow();
      for (const path of [dataDir, copy, join(disk, "filler")]) rmSync(path, { recursive: true });
      expect({ exitCode, err }).toEqual({
        exitCode: 1,
        err: `postledger: the disk of ${copy} is full: make room on the disk\n`,
      });
    },
    TEST_MS_MAX,
  );

  test(
    "what was erased leaves the copy that is followed there, before anything that needs room",
    async () => {
      const service = await startTestApp({ env: { DELIVERY: "off" } });
      const copy = join(disk, "erased");
      const follow = () => runCommand(["backup", "follow", "--out", copy, "--once"], service.dataDir);
      try {
        const { json } = await accept(service, "one@example.net");
        expect(await follow()).toMatchObject({ exitCode: 0 });
        expect(contentIn(copy)).toHaveLength(1);
        expect(await service.call("DELETE", `/api/v1/emails/${json.id}/content`)).toMatchObject({
          status: 200,
        });
        for (const to of ["two", "three", "four"]) await accept(service, `${to}@example.net`);
        leave(0);
        const { exitCode, err } = await follow();
        expect({ exitCode, err }).toMatchObject({
          exitCode: 1,
          err: expect.stringContaining("is full: make room on the disk"),
        });
        expect(contentIn(copy).filter((path) => !contentIn(service.dataDir).includes(path))).toEqual([]);
        rmSync(join(disk, "filler"));
        expect(await follow()).toMatchObject({ exitCode: 0 });
        expect(contentIn(copy)).toHaveLength(3);
      } finally {
        await service.remove();
        rmSync(copy, { recursive: true });
      }
    },
    TEST_MS_MAX,
  );

  test(
    "a follower that runs there says so, also after it has removed what was erased",
    async () => {
      const service = await startTestApp({ env: { DELIVERY: "off" } });
      const copy = join(disk, "running");
      const follow = () => runCommand(["backup", "follow", "--out", copy, "--once"], service.dataDir);
      const full = `the disk of ${copy} is full: make room on the disk`;
      const never = new AbortController();
      try {
        const { json } = await accept(service, "one@example.net");
        expect(await follow()).toMatchObject({ exitCode: 0 });
        await accept(service, "two@example.net");
        leave(0);
        using lock = new CopyLock(copy);
        const follower = await followerOf({ dataDir: service.dataDir, copy, lock });
        // There is no room for what is new.
        await expect(follower.compare(never.signal, async () => {})).rejects.toThrow(full);

        rmSync(join(disk, "filler"));
        await follower.round(never.signal);
        await service.call("DELETE", `/api/v1/emails/${json.id}/content`);
        leave(0);
        const failing: [FollowTask, string][] = [];
        const reports = {
          failing: (task: FollowTask, reason: string) => failing.push([task, reason]),
          working() {},
          round() {},
          content() {},
          events() {},
        };
        // A round is due in every pause.
        const ended = followLoop(follower, { everyMs: 0, stopping: never.signal, reports });
        await until(() => contentIn(copy).length === 1, "the removal");
        await until(() => failing.length >= 2, "both lines");
        never.abort();
        await ended;
        expect(failing).toEqual([
          ["follow", full],
          ["compare", full],
        ]);
      } finally {
        never.abort();
        await service.remove();
        rmSync(join(disk, "filler"), { force: true });
        rmSync(copy, { recursive: true });
      }
    },
    TEST_MS_MAX,
  );

  const dataDir = join(disk, "data");

  test(
    "a service says when there is too little room, also at its start, and when that is over",
    async () => {
      const env = { DISK_FREE_BYTES_MIN: String(8 * MIB) };
      leave(4 * MIB);
      const service = await startTestProcess({ dataDir, env });
      await until(() => linesOf(service, LOW).length === 1, "a warning at the start");
      leave(16 * MIB);
      await until(() => linesOf(service, ENOUGH).length === 1, "the end of the warning", TEST_MS_MAX);
      leave(4 * MIB);
      await until(() => linesOf(service, LOW).length === 2, "another warning", TEST_MS_MAX);
      leave(32 * MIB);
      await service.kill("SIGTERM");
    },
    TEST_MS_MAX,
  );

  test(
    "what is said of a full disk is to make room, by a start, and by doctor without a service",
    async () => {
      const env = { DISK_FREE_BYTES_MIN: String(8 * MIB) };
      leave(0);
      const started = await runProgram(["serve"], dataDir, { ...env, PORT: "0", LOG_LEVEL: "warn" });
      expect([started.exitCode, started.err]).toEqual([1, expect.stringMatching(/disk is full.*make room/)]);
      expect(started.err).not.toContain("Set DATA_DIR");

      const alone = await runProgram(["doctor", "--json"], dataDir, env);
      const checks = alone.json as readonly Record<string, string | null>[];
      expect(checks[1]).toMatchObject({ name: "disk", status: "failed" });
      expect(JSON.stringify(checks)).not.toMatch(/Set STORE_URL|check STORE_URL/);
    },
    TEST_MS_MAX,
  );

  test(
    "read models that have no room need some, and go on by themselves when there is",
    async () => {
      const data = mkdtempSync(join(tmpdir(), "postledger-test-"));
      const projections = join(data, "projections");
      mkdirSync(projections);
      mount(projections, "100k");
      const service = await startTestProcess({ dataDir: data, env: { STORE_TIMEOUT_MS: "500" } });
      const readModels = async () => {
        const { json } = await runProgram(["doctor", "--json"], data);
        return (json as readonly Record<string, string>[]).filter(({ name }) =>
          name?.startsWith("read model "),
        );
      };
      const stopped = (await readModels()).filter(({ status }) => status === "failed");
      expect(stopped).not.toEqual([]);
      for (const { action } of stopped) expect(action).toContain("make room");
      Bun.spawnSync(["mount", "-o", "remount,size=32m", projections]);
      const haveGoneOn = async () => (await readModels()).every(({ status }) => status === "ok");
      await until(haveGoneOn, "the read models to go on", TEST_MS_MAX);
      await service.kill("SIGTERM");
      unmount(projections);
      rmSync(data, { recursive: true });
    },
    TEST_MS_MAX,
  );
});
