import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { directoryContentStore } from "../../src/adapters/directory/directoryContentStore.ts";
import { sha256Of } from "../../src/kernel/crypto/sha256.ts";
import { StoreError } from "../../src/ports/eventStore.ts";
import { beginLog, exportOf, importOf } from "../commands/log/portableLog.ts";
import { runCommand } from "../support/process/runCommand.ts";
import { memoryEventStore } from "../support/stores/memoryEventStore.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";

const folder = temporaryFolder();

const ids = () => [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()] as const;
const contentPath = ids().join("/");
const bytes = Buffer.from("what was sent");
const file = `${contentPath}/${sha256Of(bytes)}`;

function makePipe(path: string): void {
  expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0);
}

/** A list of files with a correct digest of its own, which is all it takes to write one. */
function rewriteList(
  backup: string,
  change: (lines: Record<string, unknown>[]) => Record<string, unknown>[],
): void {
  const path = join(backup, "manifest.jsonl");
  const lines = readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const body = change(lines.slice(0, -1))
    .map((line) => `${JSON.stringify(line)}\n`)
    .join("");
  const end = { ...lines.at(-1).end, sha256: sha256Of(Buffer.from(body)) };
  writeFileSync(path, `${body}${JSON.stringify({ end })}\n`);
}

describe("a backup that somebody has changed", () => {
  const dataDir = join(folder, "data");
  const created = join(folder, "made");
  const secret = join(folder, "secret");
  let backup = "";
  let target = "";

  beforeAll(async () => {
    expect((await runCommand(["workspace", "create", "Acme"], dataDir)).exitCode).toBe(0);
    mkdirSync(join(dataDir, "content", contentPath), { recursive: true });
    writeFileSync(join(dataDir, "content", file), bytes);
    writeFileSync(secret, "of another user of the machine");
    expect((await runCommand(["backup", "create", "--out", created, "--with-key"], dataDir)).exitCode).toBe(
      0,
    );
  }, 60_000);
  beforeEach(() => {
    backup = join(folder, crypto.randomUUID());
    target = join(folder, crypto.randomUUID());
    cpSync(created, backup, { recursive: true });
  });

  const verify = () => runCommand(["backup", "verify", backup], join(folder, "none"));
  const restore = () => runCommand(["backup", "restore", backup], target);

  test("is restored when nobody has", async () => {
    expect((await restore()).exitCode).toBe(0);
    expect(readFileSync(join(target, "content", file))).toEqual(bytes);
  });

  test.each(["../secret", "/etc/hostname", "content/../../secret", "content", "master.key/.."])(
    "and lists %s does not lead there",
    async (path) => {
      rewriteList(backup, (lines) => [
        ...lines,
        { file: { path, bytes: 1, sha256: sha256Of(readFileSync(secret)) } },
      ]);
      const { exitCode, err } = await verify();
      expect(exitCode).toBe(1);
      expect(err).toContain("a backup cannot hold");
    },
  );

  test.each(["events.db", `content/${file}`])(
    "and has a link in place of %s does not lead to another file",
    async (name) => {
      const original = readFileSync(join(backup, name));
      const copyDirectory = join(folder, crypto.randomUUID());
      writeFileSync(copyDirectory, original);
      rmSync(join(backup, name));
      symlinkSync(copyDirectory, join(backup, name));
      expect((await verify()).exitCode).toBe(1);
      expect((await restore()).exitCode).toBe(1);
      expect(existsSync(join(target, "events.db"))).toBe(false);
    },
  );

  test.each(["events.db", `content/${file}`])(
    "and has a pipe in place of %s does not hold up a check",
    async (name) => {
      rmSync(join(backup, name));
      makePipe(join(backup, name));
      expect((await verify()).exitCode).toBe(1);
    },
  );

  test("and has more files than it lists brings those nowhere, nor what links lead to", async () => {
    const [added, linked, linkedFolder] = [ids().join("/"), ids().join("/"), ids()];
    const name = "a".repeat(64);
    for (const path of [added, linked]) mkdirSync(join(backup, "content", path), { recursive: true });
    writeFileSync(join(backup, "content", added, name), "more");
    symlinkSync(secret, join(backup, "content", linked, name));
    const real = join(folder, crypto.randomUUID(), linkedFolder[1], linkedFolder[2]);
    mkdirSync(real, { recursive: true });
    writeFileSync(join(real, name), "elsewhere");
    symlinkSync(dirname(dirname(real)), join(backup, "content", linkedFolder[0]));
    expect((await restore()).exitCode).toBe(0);
    expect(readdirSync(join(target, "content")).toSorted()).toEqual(
      ["identity", "log", contentPath.split("/")[0] ?? ""].toSorted(),
    );
  });

  test("and does not list the log is refused", async () => {
    rewriteList(backup, (lines) =>
      lines.filter(({ file: one }) => (one as { path?: string })?.path !== "events.db"),
    );
    const { exitCode, err } = await restore();
    expect(exitCode).toBe(1);
    expect(err).toContain("lacks events.db");
  });
});

describe("names with terminal control sequences", () => {
  test("are shown and not executed", async () => {
    const dataDir = join(folder, crypto.randomUUID());
    expect((await runCommand(["workspace", "create", "Acme"], dataDir)).exitCode).toBe(0);
    const db = new DatabaseSync(join(dataDir, "events.db"));
    db.exec(`CREATE TRIGGER "\u001b[2J\u009b2Jspy" AFTER INSERT ON events BEGIN SELECT 1; END`);
    db.close();
    for (const words of [
      ["audit", "seal"],
      ["audit", "verify"],
      ["workspace", "list"],
    ]) {
      const { exitCode, out, err } = await runCommand(words, dataDir);
      expect(exitCode).not.toBe(0);
      expect(out + err).toContain("spy");
      expect(out + err).not.toMatch(/[^\P{Cc}\n]/u);
    }
  });
});

describe("links and pipes in the content directory", () => {
  test("are not read, and block nothing", async () => {
    const root = join(folder, crypto.randomUUID());
    const [workspaceId, ownerId, folderId] = ids();
    const store = directoryContentStore(root);
    await store.create();
    const contentFolder = { workspaceId, ownerId, folderId };
    const sha256 = await store.put(contentFolder, bytes);
    const path = join(root, workspaceId, ownerId, folderId, sha256);
    renameSync(path, join(root, "moved"));
    symlinkSync(join(root, "moved"), path);
    await expect(store.get(contentFolder, sha256)).rejects.toThrow(StoreError);
    rmSync(path);
    makePipe(path);
    await expect(store.get(contentFolder, sha256)).rejects.toThrow(StoreError);
  });

  test("are not copied into a backup", async () => {
    const dataDir = join(folder, crypto.randomUUID());
    const out = join(folder, crypto.randomUUID());
    expect((await runCommand(["workspace", "create", "Acme"], dataDir)).exitCode).toBe(0);
    const path = join(dataDir, "content", contentPath);
    mkdirSync(path, { recursive: true });
    const secret = join(folder, "another secret");
    writeFileSync(secret, "of another user of the machine");
    symlinkSync(secret, join(path, "a".repeat(64)));
    expect((await runCommand(["backup", "create", "--out", out], dataDir)).exitCode).not.toBe(0);
    expect(existsSync(join(out, "content", contentPath))).toBe(false);
  });
});

describe("an export that somebody has changed", () => {
  test.each([
    ["$settings", "A"],
    ["$users", "A"],
    ["$$email-1", "$metadata"],
    ["email-1", "$>"],
    ["import", "LogImportFinished"],
  ])("and holds %s with %s is not imported", async (stream, type) => {
    const from = memoryEventStore();
    await beginLog(from);
    const { lines } = await exportOf(from);
    const event = { stream, revision: 0, id: crypto.randomUUID(), type, data: {}, metadata: {} };
    const body = [...lines.slice(0, -1), JSON.stringify(event)];
    const { end } = JSON.parse(lines.at(-1) ?? "");
    const sha256 = sha256Of(Buffer.from(body.map((line) => `${line}\n`).join("")));
    const changed = [...body, JSON.stringify({ end: { ...end, events: end.events + 1, sha256 } })];
    const to = memoryEventStore();
    await expect(importOf(to, changed)).rejects.toThrow("no log of Postledger holds");
    expect(await to.lastRevision(stream)).toBeNull();
  });
});
