import { beforeAll, describe, expect, test } from "bun:test";
import { constants, existsSync } from "node:fs";
import { appendFile, cp, open, readdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { forgeBackup } from "../support/files/forgedBackup.ts";
import { type CommandCallResult, sharedCommandProcess } from "../support/process/commandProcess.ts";
import { runCallsApart } from "../support/process/runCalls.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";

const TEST_MS_MAX = 60_000;

const folder = temporaryFolder();
beforeAll(async () => {
  for (const made of [
    await run("data", "workspace", "create", "Acme"),
    await run("data", "backup", "create", "--out", join(folder, "backup"), "--with-key"),
    await run("other", "workspace", "create", "Other"),
  ])
    expect(made).toMatchObject({ status: 0, err: "" });
}, TEST_MS_MAX);

function call(dataDir: string, ...words: readonly string[]) {
  return { words, env: { DATA_DIR: join(folder, dataDir), DISK_FREE_BYTES_MIN: "0" } };
}

function run(dataDir: string, ...words: readonly string[]): Promise<CommandCallResult> {
  return sharedCommandProcess().run(call(dataDir, ...words));
}

describe("a forged list of files is refused with its line, and nothing is restored", () => {
  type Lines = Record<string, unknown>[];
  const fact =
    (name: string, value: unknown) =>
    ([facts, ...files]: Lines) => [{ ...facts, [name]: value }, ...files];
  const more = (line: unknown) => (lines: Lines) => [...lines, line];
  test.each<[string, (lines: Lines) => unknown[], string]>([
    [
      "null",
      ([facts, ...files]) => [facts, null, ...files],
      "line 2 of manifest.jsonl is damaged: it is no JSON object",
    ],
    ["no time", fact("createdAt", "yesterday"), "line 1 of manifest.jsonl is damaged: createdAt is no time"],
    ["an escape", fact("createdAt", "2026-01-01T00:00:00.000Z\u001b[2J"), "createdAt is no time"],
    ["a number for an id", fact("backupId", 5), "line 1 of manifest.jsonl is damaged: backupId is no text"],
    ["no key", fact("sealedDataKey", undefined), "sealedDataKey is no text"],
    ["a text for a flag", fact("sealed", "yes"), "sealed is neither true nor false"],
    ["an unknown place", fact("content", "nowhere"), "content is neither directory nor s3"],
    [
      "a path outside",
      more({ file: { path: "content/../../x", bytes: 1, sha256: "a" } }),
      'cannot hold "content/../../x"',
    ],
    ["no file", more({ file: null }), "is damaged: it names no file"],
  ])(
    "%s",
    async (_, change, message) => {
      const forged = join(folder, "forged");
      await forgeBackup(join(folder, "backup"), forged, change);
      const verified = await run("data", "backup", "verify", forged);
      expect([verified.status, verified.out]).toEqual([1, ""]);
      expect(verified.err).toContain(message);
      expect(verified.err.trimEnd()).not.toContain("\n");
      const restored = await run("restored", "backup", "restore", forged);
      expect([restored.status, restored.err]).toEqual([1, verified.err]);
      expect(existsSync(join(folder, "restored", "events.db"))).toBe(false);
      expect(existsSync(join(folder, "restored", "restoring"))).toBe(false);
    },
    TEST_MS_MAX,
  );
});

test(
  "a pipe in place of the list is refused, and not waited for",
  async () => {
    const piped = join(folder, "piped");
    await cp(join(folder, "backup"), piped, { recursive: true });
    await rm(join(piped, "manifest.jsonl"));
    await Bun.$`mkfifo ${join(piped, "manifest.jsonl")}`;
    const { status, err } = await run("data", "backup", "verify", piped);
    expect([status, err]).toEqual([1, `postledger: ${piped}/manifest.jsonl is no regular file\n`]);
  },
  TEST_MS_MAX,
);

test(
  "a file of another length is damaged, and not read to its end",
  async () => {
    const grown = join(folder, "grown");
    await cp(join(folder, "backup"), grown, { recursive: true });
    // Reading a sparse file of this length would take hours.
    const file = await open(join(grown, "events.db"), constants.O_WRONLY);
    await file.truncate(2 ** 43);
    await file.close();
    const { status, err } = await run("data", "backup", "verify", grown);
    expect(status).toBe(1);
    expect(err).toMatch(/events\.db is damaged: it has 8796093022208 bytes, and had \d+\n$/);
  },
  TEST_MS_MAX,
);

test(
  "only the listed files count: a write-ahead log or a journal beside the log is not applied",
  async () => {
    const beside = join(folder, "beside");
    await cp(join(folder, "backup"), beside, { recursive: true });
    await appendFile(join(beside, "events.db-journal"), crypto.getRandomValues(new Uint8Array(64)));
    expect(await run("data", "backup", "verify", beside)).toMatchObject({ status: 0, err: "" });
  },
  TEST_MS_MAX,
);

test(
  "a valid write-ahead log beside the log is not applied, neither by a check nor by a restore",
  async () => {
    const [beside, changed] = [join(folder, "beside-valid"), join(folder, "changed")];
    await cp(join(folder, "backup"), beside, { recursive: true });
    await cp(join(folder, "backup", "events.db"), join(changed, "events.db"));
    const forgedEvents = (path: string) => {
      using log = new DatabaseSync(path);
      return log.prepare("SELECT count(*) AS count FROM events WHERE type = 'Forged'").get()?.count;
    };
    const writer = new DatabaseSync(join(changed, "events.db"));
    writer.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0");
    writer.exec("UPDATE events SET type = 'Forged' WHERE position = (SELECT min(position) FROM events)");
    for (const to of [beside, join(folder, "applied")]) {
      await cp(join(folder, "backup", "events.db"), join(to, "events.db"));
      await cp(join(changed, "events.db-wal"), join(to, "events.db-wal"));
    }
    writer.close();
    // SQLite applies it where it may.
    expect(forgedEvents(join(folder, "applied", "events.db"))).toBe(1);
    expect(await run("data", "backup", "verify", beside)).toMatchObject({ status: 0, err: "" });
    expect(await run("unapplied", "backup", "restore", beside)).toMatchObject({ status: 0, err: "" });
    expect(forgedEvents(join(folder, "unapplied", "events.db"))).toBe(0);
  },
  TEST_MS_MAX,
);

test(
  "a backup whose log or key is another installation's is refused",
  async () => {
    const [log, key] = [join(folder, "other-log"), join(folder, "other-key")];
    await run("other", "backup", "create", "--out", join(folder, "others"), "--with-key");
    const others = (name: string) => Bun.file(join(folder, "others", name));
    const replaced = async (name: string) => {
      const bytes = await others(name).bytes();
      const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
      return { file: { path: name, bytes: bytes.length, sha256 } };
    };
    for (const [to, name, message] of [
      [log, "events.db", "events.db is not the log that the backup names"],
      [key, "master.key", "the master.key in the backup does not open its log"],
    ] as const) {
      const line = await replaced(name);
      await forgeBackup(join(folder, "backup"), to, (lines) =>
        lines.map((one) => ((one.file as { path?: string } | undefined)?.path === name ? line : one)),
      );
      await Bun.write(join(to, name), others(name));
      const { status, err } = await run(`from-${name}`, "backup", "restore", to);
      expect(status).toBe(1);
      expect(err).toContain(message);
      expect(existsSync(join(folder, `from-${name}`, "events.db"))).toBe(false);
    }
  },
  TEST_MS_MAX,
);

test(
  "a restore beside a write-ahead log that another log has left is refused",
  async () => {
    const store = join(folder, "store");
    await Bun.write(join(store, "events.db-wal"), "left");
    const { words, env } = call("beside-wal", "backup", "restore", join(folder, "backup"));
    const here = { words, env: { ...env, STORE_URL: `file:${store}` } };
    expect(await sharedCommandProcess().run(here)).toMatchObject({
      status: 1,
      err: expect.stringContaining(`there is a log already: ${store}/events.db-wal`),
    });
  },
  TEST_MS_MAX,
);

describe("what a backup or an export is called", () => {
  test(
    "may end with a slash, as a shell completes it",
    async () => {
      const out = join(folder, "slash");
      expect(await run("data", "backup", "create", "--out", `${out}/`)).toMatchObject({ status: 0, err: "" });
      expect(await run("data", "backup", "verify", `${out}/`)).toMatchObject({ status: 0, err: "" });
    },
    TEST_MS_MAX,
  );

  test(
    "is not empty",
    async () => {
      for (const words of [
        ["backup", "create", "--out", ""],
        ["log", "export", "--out", ""],
        ["log", "export", "--out", "x", "--content", ""],
      ])
        expect((await run("data", ...words)).status).toBe(2);
    },
    TEST_MS_MAX,
  );

  test(
    "leaves a directory alone that has the name of an unfinished one",
    async () => {
      const [out, partial] = [join(folder, "named"), join(folder, "named.partial")];
      await Bun.write(join(partial, "mine"), "mine");
      expect(await run("data", "backup", "create", "--out", out)).toMatchObject({ status: 0 });
      const exported = ["log", "export", "--out", `${out}.zst`, "--content", `${out}-content`];
      await Bun.write(join(`${out}-content.partial`, "mine"), "mine");
      expect(await run("data", ...exported)).toMatchObject({ status: 0 });
      for (const directory of [partial, `${out}-content.partial`])
        expect(await Bun.file(join(directory, "mine")).text()).toBe("mine");
    },
    TEST_MS_MAX,
  );
});

test(
  "two backups to one name at once do not write into each other: one is whole, the other fails",
  async () => {
    const out = join(folder, "twice");
    const ends = await Promise.all(
      [1, 2].map(() => runCallsApart([call("data", "backup", "create", "--out", out)])),
    );
    expect(ends.flat().some(({ status }) => status === 0)).toBe(true);
    expect(await run("data", "backup", "verify", out)).toMatchObject({ status: 0, err: "" });
    expect(
      (await readdir(folder)).filter((name) => name.endsWith(".partial") && name.startsWith("twice")),
    ).toEqual([]);
  },
  TEST_MS_MAX,
);

test(
  "an export whose content cannot be copied leaves no file behind",
  async () => {
    const dataDir = join(folder, "linked");
    await cp(join(folder, "data"), dataDir, { recursive: true });
    const ids = Array.from({ length: 3 }, () => crypto.randomUUID());
    const place = join(dataDir, "content", ...ids);
    await Bun.write(join(place, "b".repeat(64)), "damaged");
    const exported = (name: string) =>
      run("linked", "log", "export", "--out", join(folder, `${name}.zst`), "--content", join(folder, name));
    expect(await exported("damaged")).toMatchObject({
      status: 1,
      out: expect.stringContaining("1 files of content were damaged"),
    });
    await symlink("/etc/passwd", join(place, "a".repeat(64)));
    const { status, err } = await exported("failed");
    expect([status, err]).toEqual([
      1,
      `postledger: ${place}/${"a".repeat(64)} cannot be used: there is a link of that name (ELOOP)\n`,
    ]);
    expect((await readdir(folder)).filter((name) => name.startsWith("failed"))).toEqual([]);
  },
  TEST_MS_MAX,
);
