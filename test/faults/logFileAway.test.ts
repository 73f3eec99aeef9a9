import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { copyFile, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

test.each(["removed", "replaced by a copy"])(
  "a log that is %s under a running service takes no mail, and goes on once the file is back",
  async (what) => {
    const store = await mkdtemp(join(tmpdir(), "postledger-store-"));
    const log = join(store, "events.db");
    const service = await startTestApp({ env: { STORE_URL: `file:${store}` } });
    const ready = () => fetch(new URL("/health/ready", service.url));
    const stored = async () => ((await (await ready()).json()) as ReadyJson).checks.store.ok;
    try {
      const kept = (await service.send("before-01", MAIL)).json.id;
      await rename(log, `${log}.away`);
      if (what !== "removed") await copyFile(`${log}.away`, log);
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
        detail: `${log} was removed, or another file put in its place`,
        action: expect.stringContaining("put the log's files back"),
      });
      await rename(`${log}.away`, log);
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

interface ReadyJson {
  readonly checks: { readonly store: { readonly ok: boolean } };
}
