import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { copyFile, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { runProgram } from "../support/process/runCommand.ts";
import { startTestApp, startTestProcess } from "../support/service.ts";
import { until } from "../support/until.ts";

const TEST_MS_MAX = 120_000;

const MAIL = { from: "hello@example.com", to: "ana@example.com", subject: "Hello", text: "Hello" };
const SENDS = 5;

test(
  "a start without the log's file leaves the write-ahead log alone, and with the file back no mail is missing",
  async () => {
    const first = await startTestProcess({ env: { DELIVERY: "off" } });
    const { dataDir } = first;
    const log = join(dataDir, "events.db");
    const ids: string[] = [];
    for (let index = 0; index < SENDS; index += 1)
      ids.push((await first.send(`in-the-wal-${index}`, MAIL)).json.id);
    await first.kill("SIGKILL");
    const written = await readFile(`${log}-wal`);
    await rename(log, `${log}.away`);
    const { exitCode, err } = await runProgram(["serve"], dataDir, { PORT: "0" });
    expect(exitCode).toBe(1);
    expect(err).toContain(`${log} is missing or empty, but ${log}-wal holds what was written to it last`);
    expect(existsSync(log)).toBe(false);
    expect(written.equals(await readFile(`${log}-wal`))).toBe(true);
    await rename(`${log}.away`, log);
    const second = await startTestApp({ dataDir, env: { DELIVERY: "off" } });
    try {
      for (const id of ids) expect((await second.call("GET", `/api/v1/emails/${id}`)).status).toBe(200);
    } finally {
      await second.remove();
      await rm(dataDir, { recursive: true });
    }
  },
  TEST_MS_MAX,
);

test(
  "a start without a log on the content store of one is refused, and creates no log",
  async () => {
    const service = await startTestApp();
    const { dataDir } = service;
    await service.app.stop();
    try {
      await rename(join(dataDir, "events.db"), join(dataDir, "events.db.away"));
      for (const words of [["serve"], ["workspace", "create", "Acme"]]) {
        const { exitCode, err } = await runProgram(words, dataDir, { PORT: "0" });
        expect(exitCode).toBe(2);
        expect(err).toContain("the content store holds the content of another log");
        expect(existsSync(join(dataDir, "events.db"))).toBe(false);
      }
    } finally {
      await rm(dataDir, { recursive: true });
    }
  },
  TEST_MS_MAX,
);

const FILES = ["events.db", "events.db-wal", "events.db-shm"];

test.each(FILES.flatMap((file) => ["removed", "replaced by a copy"].map((what) => [file, what] as const)))(
  "if %s is %s under a running service, that takes no mail, and goes on once the file is back",
  async (file, what) => {
    const store = await mkdtemp(join(tmpdir(), "postledger-store-"));
    const path = join(store, file);
    const service = await startTestApp({ env: { STORE_URL: `file:${store}` } });
    const ready = () => fetch(new URL("/health/ready", service.url));
    const stored = async () => ((await (await ready()).json()) as ReadyJson).checks.store.ok;
    try {
      const kept = (await service.send("before-01", MAIL)).json.id;
      await rename(path, `${path}.away`);
      if (what !== "removed") await copyFile(`${path}.away`, path);
      await until(async () => !(await stored()), "the service to miss its log");
      expect((await ready()).status).toBe(503);
      const refused = await service.send("while-away-01", MAIL);
      expect(refused.json).toMatchObject({ status: 503, retryable: true });
      const { json } = await runProgram(["doctor", "--json"], service.dataDir, {
        STORE_URL: `file:${store}`,
      });
      expect(json).toContainEqual({
        name: "log",
        status: "failed",
        detail: `${path} was removed, or another file put in its place`,
        action: expect.stringContaining("put the log's files back"),
      });
      await rename(`${path}.away`, path);
      await until(stored, "the service to find its log again");
      const { status, json: sent } = await service.send("while-away-01", MAIL);
      expect(status).toBe(202);
      const isSent = async () =>
        (await service.call("GET", `/api/v1/emails/${sent.id}`)).json.status === "sent";
      await until(isSent, "the delivery to be made");
      expect((await service.call("GET", `/api/v1/emails/${kept}`)).status).toBe(200);
    } finally {
      await service.remove();
      await rm(store, { recursive: true });
    }
  },
  TEST_MS_MAX,
);

test.each([
  ["events.db-wal", "SIGTERM"],
  ["events.db-wal", "SIGKILL"],
  ["events.db-shm", "SIGTERM"],
  ["events.db-shm", "SIGKILL"],
] as const)(
  "if %s is deleted under a running service, commands leave the log alone, and no mail is missing after %s",
  async (file, signal) => {
    const first = await startTestProcess({ env: { DELIVERY: "off" } });
    const { dataDir } = first;
    const log = join(dataDir, "events.db");
    try {
      const { id } = (await first.send("before-01", MAIL)).json;
      await rm(join(dataDir, file));
      const unready = async () => (await first.call("GET", "/health/ready")).status === 503;
      await until(unready, "the service to miss its file");
      for (let index = 0; index < SENDS; index += 1)
        expect((await first.send(`while-away-${index}`, MAIL)).status).toBe(503);
      const { exitCode, err } = await runProgram(["workspace", "create", "Acme"], dataDir);
      expect(exitCode).toBe(1);
      expect(err).toContain(`${log}${file.slice("events.db".length)} was removed, but another process`);
      expect(existsSync(join(dataDir, file))).toBe(false);
      if (signal === "SIGKILL" && file.endsWith("-wal"))
        await until(async () => (await readFile(log)).includes(id), "the log's file to hold the message");
      await first.kill(signal);
      const second = await startTestProcess({ dataDir, env: { DELIVERY: "off" } });
      expect((await second.call("GET", `/api/v1/emails/${id}`)).status).toBe(200);
      expect((await second.send("while-away-0", MAIL)).status).toBe(202);
      expect((await runProgram(["workspace", "create", "Acme"], dataDir)).exitCode).toBe(0);
      expect((await runProgram(["audit", "verify"], dataDir)).exitCode).toBe(0);
      await second.kill("SIGTERM");
    } finally {
      await first.kill("SIGKILL");
      await rm(dataDir, { recursive: true });
    }
  },
  TEST_MS_MAX,
);

test(
  "commands, checkpoints and copies beside a running service leave the log's files in place",
  async () => {
    const service = await startTestProcess({ env: { DELIVERY: "off" } });
    const { dataDir } = service;
    const beside: Readonly<Record<string, () => unknown>> = {
      workspace: () => runProgram(["workspace", "create", "Acme"], dataDir),
      backup: () => runProgram(["backup", "create", "--out", join(dataDir, "copy")], dataDir),
      export: () => runProgram(["log", "export", "--out", join(dataDir, "copy.zst")], dataDir),
      verification: () => runProgram(["audit", "verify"], dataDir),
      checkpoint() {
        using db = new DatabaseSync(join(dataDir, "events.db"));
        db.exec("PRAGMA busy_timeout = 5000");
        return { exitCode: db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.busy };
      },
    };
    try {
      for (const [name, work] of Object.entries(beside)) {
        expect((await service.send(`before-${name}`, MAIL)).status).toBe(202);
        expect(await work()).toMatchObject({ exitCode: 0 });
        expect((await service.send(`after-${name}`, MAIL)).status).toBe(202);
        const { json } = await service.call("GET", "/health/ready");
        expect(json.checks.store).toMatchObject({ ok: true });
      }
    } finally {
      await service.kill("SIGTERM");
      await rm(dataDir, { recursive: true });
    }
  },
  TEST_MS_MAX,
);

interface ReadyJson {
  readonly checks: { readonly store: { readonly ok: boolean } };
}
