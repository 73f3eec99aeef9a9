import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { emailStream } from "../../src/domain/email/events.ts";
import { emailOf } from "../support/mail/sentEmail.ts";
import { type Sink, startSmtpSink } from "../support/mail/smtpSink.ts";
import { runCommand } from "../support/process/runCommand.ts";
import { startTestProcess, type TestProcess } from "../support/service.ts";
import { message, newKey, openLog } from "../support/tenants.ts";
import { until } from "../support/until.ts";

const TEST_MS_MAX = 120_000;
/** So many that some are not cleared yet when the last one is sent. */
const MESSAGES = 20;

let sink: Sink;
let dataDir: string;
beforeAll(async () => {
  sink = await startSmtpSink();
  dataDir = await mkdtemp(join(tmpdir(), "postledger-erasure-killed-"));
});
afterAll(async () => {
  await sink.close();
  await rm(dataDir, { recursive: true, force: true });
});

test(
  "content that is kept until the end is cleared by the next service if its own is killed before, and the log verifies",
  async () => {
    const env = { SMTP_URL: `smtp://127.0.0.1:${sink.port}` };
    const start = () => startTestProcess({ dataDir, env });
    const send = async (service: TestProcess) => {
      const body = message({ from: "hello@example.com", content_retention: "until_final_status" });
      const { status, json } = await service.send(newKey(), body);
      expect(status).toBe(202);
      return json.id as string;
    };
    const first = await start();
    const ids: string[] = [];
    for (let n = 0; n < MESSAGES; n += 1) ids.push(await send(first));
    await until(async () => {
      const emails = await Promise.all(ids.map((id) => emailOf(first, id)));
      return emails.every(({ status }) => status === "sent");
    }, "all to be sent");
    await first.kill("SIGKILL");
    const { store } = await openLog({ DATA_DIR: dataDir });
    const left = async () => {
      const streams = await Promise.all(ids.map((id) => store.read(emailStream(id), 0, 1)));
      return streams.filter(([event]) => event?.revision === 0).length;
    };
    try {
      expect(await left()).toBeGreaterThan(0);
      const second = await start();
      try {
        await until(async () => (await left()) === 0, "all to be cleared");
        for (const id of ids)
          expect(await emailOf(second, id)).toMatchObject({ status: "sent", content_erased: true });
        expect((await runCommand(["audit", "seal"], dataDir)).exitCode).toBe(0);
        const verified = await runCommand(["audit", "verify"], dataDir);
        expect({ exitCode: verified.exitCode, out: verified.out }).toMatchObject({ exitCode: 0 });
      } finally {
        await second.kill("SIGTERM");
      }
    } finally {
      await store.close();
    }
    expect(sink.record.messages).toHaveLength(MESSAGES);
  },
  TEST_MS_MAX,
);
