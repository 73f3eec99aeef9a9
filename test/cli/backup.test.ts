import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { vacuumCopy } from "../../src/adapters/sqlite/vacuumCopy.ts";
import { ManifestWriter } from "../../src/cli/backup/backupManifest.ts";
import { requireRoom } from "../../src/cli/backup/restoreDiskSpace.ts";
import type { CommandCallResult } from "../support/process/commandProcess.ts";
import { runCalls } from "../support/process/runCalls.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";

const TEST_MS_MAX = 90_000;
/** As people read it: a number of at most two places, and its unit. */
const SIZE = /(?:\d\.\d|\d+) (?:kB|MB)/;

const folder = temporaryFolder();

test(
  "a backup's size is printed in a readable unit, and in bytes with --json",
  async () => {
    const out = join(folder, "backup");
    const call = (dataDir: string, ...words: readonly string[]) => ({
      words,
      env: { DATA_DIR: join(folder, dataDir), DISK_FREE_BYTES_MIN: "0" },
    });
    const [, created, verified, exact, restored] = (await runCalls([
      call("data", "workspace", "create", "Acme"),
      call("data", "backup", "create", "--out", out, "--with-key"),
      call("data", "backup", "verify", out),
      call("data", "backup", "verify", out, "--json"),
      call("restored", "backup", "restore", out),
    ])) as readonly CommandCallResult[];
    const summary = new RegExp(`: 4 files, ${SIZE.source}(?:, as of .+)?$`, "m");
    for (const end of [created, verified, restored]) expect(end).toMatchObject({ status: 0, err: "" });
    for (const end of [created, verified, restored]) expect(end?.out).toMatch(summary);
    // With a script around them, a wrong DATA_DIR would otherwise go unnoticed.
    for (const [end, dataDir] of [
      [created, "data"],
      [restored, "restored"],
    ] as const)
      expect(end?.out).toStartWith(`DATA_DIR ${join(folder, dataDir)} (the log is a file in it)\n`);
    expect(restored?.out).toMatch(
      /^before `delivery resume`, do again what was done after the copy was taken: revoke keys, /m,
    );
    const { files, bytes } = JSON.parse(exact?.out ?? "{}");
    const sizes = [...new Bun.Glob("**/*").scanSync(out)]
      .filter((path) => path !== "manifest.jsonl")
      .map((path) => Bun.file(join(out, path)).size);
    expect({ files, bytes }).toEqual({ files: 4, bytes: sizes.reduce((sum, size) => sum + size) });
  },
  TEST_MS_MAX,
);

test.if(existsSync("/dev/full"))(
  "a log that is copied to a full disk is said to be no more than that",
  async () => {
    const env = { DATA_DIR: join(folder, "copied"), DISK_FREE_BYTES_MIN: "0" };
    await runCalls([{ words: ["workspace", "create", "Acme"], env }]);
    const log = join(folder, "copied", "events.db");
    expect(() => vacuumCopy(log, "/dev/full")).toThrow(/cannot be copied to \/dev\/full: .*disk is full/);
  },
  TEST_MS_MAX,
);

test(
  "a backup that fails in the middle leaves nothing behind",
  async () => {
    const out = join(folder, "failed");
    const env = { DATA_DIR: join(folder, "strange"), DISK_FREE_BYTES_MIN: "0" };
    await runCalls([{ words: ["workspace", "create", "Acme"], env }]);
    const ids = Array.from({ length: 3 }, () => crypto.randomUUID());
    await mkdir(join(folder, "strange", "content", ...ids, "a".repeat(64)), { recursive: true });
    const [end] = await runCalls([{ words: ["backup", "create", "--out", out], env }]);
    expect(end?.status).toBe(1);
    expect((await readdir(folder)).filter((name) => name.startsWith("failed"))).toEqual([]);
  },
  TEST_MS_MAX,
);

test("a list that cannot be written fails when it is closed, and ends nothing else", async () => {
  const missing = join(folder, "missing");
  const facts = { logId: "log", contentStoreId: "content", sealedDataKey: "key", sealed: false };
  const named = {
    ...facts,
    backupId: "backup",
    createdAt: "2026-01-01T00:00:00Z",
    content: "s3" as const,
    following: false,
  };
  for (let tries = 0; tries < 20; tries += 1) {
    const list = new ManifestWriter(missing, named);
    // Meanwhile the list's own file fails to open.
    await expect(open(missing)).rejects.toThrow("ENOENT");
    list.add({ path: "events.db", bytes: 1, sha256: "0" });
    await expect(list.close()).rejects.toThrow("ENOENT");
  }
});

describe("a restore is refused before it begins", () => {
  const disk = (device: number, freeBytes: number) => () => ({ device, freeBytes });
  const requiredFiles = [
    { directory: "/", bytes: 600_000 },
    { directory: "/not/there/yet", bytes: 500_000 },
  ];

  test("where the disk has no room for log and content together", () => {
    expect(() => requireRoom(requiredFiles, disk(1, 1_000_000))).toThrow(
      /1 MB free at \/, and what is restored to that disk needs 1\.1 MB/,
    );
    requireRoom(requiredFiles, disk(1, 1_100_000));
  });

  test("where one of two disks has no room for its part", () => {
    const other = { directory: "/proc", bytes: 500_000 };
    const disks = (freeBytes: number) => (directory: string) => ({ device: directory.length, freeBytes });
    expect(() => requireRoom([...requiredFiles.slice(0, 1), other], disks(500_000))).toThrow("needs 600 kB");
    requireRoom([...requiredFiles.slice(0, 1), other], disks(600_000));
  });
});
