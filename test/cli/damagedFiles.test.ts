import { beforeAll, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Check } from "../../src/service/status/checks/check.ts";
import { overwriteDatabase } from "../support/files/overwriteDatabase.ts";
import { runCommand } from "../support/process/runCommand.ts";
import { startTestProcess } from "../support/service.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";
import { until } from "../support/until.ts";

const TEST_MS_MAX = 120_000;
/** The second page and what follows: SQLite opens such a file, and meets the damage when it reads a table. */
const PAGE_BYTES = 4_096;
const SECOND_PAGE = PAGE_BYTES;

const dataDir = temporaryFolder();
beforeAll(async () => {
  await runCommand(["workspace", "create", "Acme"], dataDir);
});

const run = (...words: string[]) => runCommand(words, dataDir);
async function failedChecks(): Promise<readonly Check[]> {
  const { json } = await run("doctor", "--json");
  return (json as readonly Check[]).filter(({ status }) => status === "failed");
}
const catalog = () => join(dataDir, "projections", "catalog.db");

test(
  "a damaged catalog of the read models is not mistaken for the log, and a rebuild recreates it",
  async () => {
    expect(await run("projection", "rebuild")).toMatchObject({ exitCode: 0 });
    overwriteDatabase(catalog(), SECOND_PAGE);
    const { exitCode, out, err } = await run("projection", "list");
    expect([exitCode, out]).toEqual([1, ""]);
    expect(err).toMatch(/^postledger: the catalog of the read models is damaged: [^\n]+\nTo do: [^\n]+\n$/);
    expect(err).toContain("postledger projection rebuild");
    const asJson = await run("projection", "list", "--json");
    expect(JSON.parse(asJson.err).error).toMatchObject({ code: "read_models" });
    expect(await failedChecks()).toEqual([
      {
        name: "read models",
        status: "failed",
        detail: expect.stringContaining("the catalog of the read models is damaged"),
        action: expect.stringContaining("the log, which is not damaged"),
      },
    ]);
    expect(await run("projection", "rebuild")).toMatchObject({ exitCode: 0 });
    expect(await failedChecks()).toEqual([]);
  },
  TEST_MS_MAX,
);

test(
  "a catalog that names files elsewhere is damaged, and these are not removed",
  async () => {
    const elsewhere = join(dataDir, "kept.db");
    await Bun.write(elsewhere, "kept");
    const name = (number: number, file: string) => {
      using db = new DatabaseSync(catalog());
      db.prepare("INSERT INTO generations VALUES (?, ?, 1, ?, 'retired', NULL)").run(number, "../kept", file);
    };
    for (const [number, file] of [
      [7001, "../kept.db"],
      [7002, "../kept.1.7002.db"],
    ] as const) {
      name(number, file);
      const { exitCode, err } = await run("projection", "list");
      expect(exitCode).toBe(1);
      expect(err).toContain(`damaged: it names a file that is not its own: ${file}`);
      expect(await run("projection", "rebuild")).toMatchObject({ exitCode: 0 });
      expect(await Bun.file(elsewhere).text()).toBe("kept");
    }
  },
  TEST_MS_MAX,
);

test(
  "a damaged address of the service is as good as none",
  async () => {
    for (const text of [
      "5",
      "[]",
      '{"url":"file:///etc/passwd","token":"x"}',
      '{"url":"http://127.0.0.1:1","token":"a\\nb"}',
    ]) {
      await Bun.write(join(dataDir, "service.json"), text);
      const { exitCode, json } = await run("doctor", "--json");
      expect(exitCode).toBe(0);
      expect(json).toContainEqual(expect.objectContaining({ name: "service", status: "warning" }));
    }
    await rm(join(dataDir, "service.json"));
  },
  TEST_MS_MAX,
);

test(
  "a service that starts on a damaged catalog makes it anew, and works",
  async () => {
    overwriteDatabase(catalog(), 0);
    const service = await startTestProcess({ dataDir, env: {} });
    try {
      const isReady = async () => (await fetch(new URL("/health/ready", service.url))).status === 200;
      await until(isReady, "the service to be ready", TEST_MS_MAX / 2);
      expect(await failedChecks()).toEqual([]);
    } finally {
      await service.kill("SIGTERM");
    }
  },
  TEST_MS_MAX,
);

test(
  "a log that lost its newest events with its write-ahead log is reported by the next start",
  async () => {
    const startHere = () => startTestProcess({ dataDir, env: { DELIVERY: "off" } });
    const before = await startHere();
    await before.send("taken-away-0001", {
      from: "hello@example.com",
      to: "ana@example.com",
      subject: "Hello",
      text: "Hello",
    });
    const isListed = async () => (await before.call("GET", "/api/v1/emails")).json.data?.length === 1;
    await until(isListed, "the read model");
    await before.kill("SIGKILL");
    expect(before.log()).not.toContain("the newest events of the log are gone");
    await rm(join(dataDir, "events.db-wal"));
    const after = await startHere();
    try {
      await until(() => after.log().includes("the newest events of the log are gone"), "the log line");
    } finally {
      await after.kill("SIGTERM");
    }
  },
  TEST_MS_MAX,
);

test(
  "a running service that finds its log damaged takes no mail, and its log and doctor say what to do",
  async () => {
    const startHere = () => startTestProcess({ dataDir, env: { DELIVERY: "off" } });
    const before = await startHere();
    // Longer than some pages, and no compression makes it much shorter.
    const text = randomBytes(20_000).toString("base64");
    const message = { from: "hello@example.com", to: "ana@example.com", subject: "Hello", text };
    const { json: sent } = await before.send("on-a-damaged-page-1", message);

    await before.kill("SIGTERM");
    overwriteContentPage();
    const after = await startHere();
    const ready = () => after.call("GET", "/health/ready");
    const small = { ...message, text: "Hello" };
    try {
      // Nothing has read the damaged page yet.
      await until(async () => (await ready()).status === 200, "the service to be ready");
      const { status, json: kept } = await after.send("before-the-page-is-read", small);
      expect(status).toBe(202);
      for (let time = 0; time < 2; time += 1)
        expect((await after.call("GET", `/api/v1/emails/${sent.id}`)).status).toBe(503);
      expect((await ready()).status).toBe(503);
      expect((await ready()).json.checks.store).toEqual({ ok: false, required: true, detail: "damaged" });
      const refused = await after.send("after-the-page-was-read", small);
      expect(refused.json).toMatchObject({ status: 503, retryable: true });
      expect((await after.call("GET", `/api/v1/emails/${kept.id}`)).status).toBe(200);
      const line = () => /^.*"level":50.*the log is damaged, so the service is not ready: .*$/gm;
      await until(() => line().test(after.log()), "the line");
      const told = after.log().match(line()) ?? [];
      expect(told).toEqual([expect.stringContaining("go back to a backup (docs/backups.md)")]);
      const damage = `the log ${join(dataDir, "events.db")} is damaged: `;
      expect(told[0]).toContain(damage);
      expect(await failedChecks()).toEqual([
        {
          name: "log",
          status: "failed",
          detail: expect.stringContaining(damage),
          action: expect.any(String),
        },
      ]);
    } finally {
      await after.kill("SIGTERM");
    }
  },
  TEST_MS_MAX,
);

/** Overwrites a page of the log on which the content of its newest message stands. */
function overwriteContentPage(): void {
  const path = join(dataDir, "events.db");
  using db = new DatabaseSync(path, { readOnly: true });
  const sql = "SELECT data FROM events WHERE type = 'EmailContentStored' ORDER BY position DESC LIMIT 1";
  const content = Buffer.from(db.prepare(sql).get()?.data as string | Uint8Array);
  // From the middle: what fits on no page of its row's table is on pages that name the next one.
  // At two places, because the end of a page may be within one of them.
  const places = [0, 64].map((offset) => content.subarray(content.length / 2 + offset).subarray(0, 32));
  const at = Math.max(...places.map((bytes) => readFileSync(path).indexOf(bytes)));
  expect(at).toBeGreaterThan(SECOND_PAGE);
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(PAGE_BYTES, 0xff), 0, PAGE_BYTES, at - (at % PAGE_BYTES));
  closeSync(file);
}

test(
  "a damaged log is named, with what to do about it",
  async () => {
    overwriteDatabase(join(dataDir, "events.db"), SECOND_PAGE);
    const expectedText = new RegExp(
      `^postledger: the log ${dataDir}/events.db is damaged: [^\n]+\nTo do: [^\n]+backup`,
    );
    for (const words of [["workspace", "list"], ["projection", "list"], ["serve"]]) {
      const { exitCode, err } = await runCommand(words, dataDir, { PORT: "0" });
      expect(err).toMatch(expectedText);
      expect(exitCode).toBe(1);
    }
    const [log] = await failedChecks();
    expect(log).toMatchObject({ name: "log", action: expect.stringContaining("backup") });
  },
  TEST_MS_MAX,
);
