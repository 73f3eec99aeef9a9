import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { runCommand } from "../support/process/runCommand.ts";
import { startTestApp, startTestProcess } from "../support/service.ts";

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
    const { exitCode, err } = await runCommand(["serve"], dataDir, { PORT: "0" });
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
        const { exitCode, err } = await runCommand(words, dataDir, { PORT: "0" });
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
