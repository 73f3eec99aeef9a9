import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DAY_MS, rfc3339 } from "../../src/kernel/time.ts";
import { PAGES } from "../docs/pages.ts";
import { changedProgram } from "../faults/crash/plants.ts";
import { type Sink, startSmtpSink } from "../support/mail/smtpSink.ts";
import { sourceCommandLine } from "../support/process/program.ts";
import { commandEnv, runCommand } from "../support/process/runCommand.ts";
import { runProcess } from "../support/process/runProcess.ts";
import { callerOf, startTestApp } from "../support/service.ts";
import { canStartEventStoreDb, startEventStoreDb } from "../support/stores/eventstoredb.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";
import { message } from "../support/tenants.ts";
import { until } from "../support/until.ts";

const MS_MAX = 240_000;
const FROM = "hello@example.com";
const UNKNOWN = "0192f8a1-7c1e-7b6e-9d55-0f3f4d1c2b3a";

type Environment = Readonly<Record<string, string>>;

/** A log that is held since it was restored, its content and settings. */
interface HeldLog {
  readonly dataDir: string;
  readonly env: Environment;
}

const folder = temporaryFolder();
let sink: Sink;
let apiKey: string;
/** By name, as they were accepted. */
let ids: Readonly<Record<string, string>>;

const NAMES = ["first", "second", "third", "fourth", "fifth", "canceled", "simulated", "later"];
/** After every restoration of these tests. */
const SCHEDULED_AT = rfc3339(Date.now() + DAY_MS);

/** A log with unfinished messages, one of them canceled, and copies of it. */
beforeAll(async () => {
  sink = await startSmtpSink();
  const dataDir = join(folder, "original");
  const app = await startTestApp({ dataDir, env: { DELIVERY: "off" } });
  apiKey = app.apiKey;
  const accepted: [string, string][] = [];
  for (const name of NAMES) {
    const to = name === "simulated" ? "delivered@simulator.test" : `${name}@example.net`;
    const later = name === "later" ? { scheduled_at: SCHEDULED_AT } : {};
    const { json } = await app.send(`except-${name}`, message({ from: FROM, to, ...later }));
    accepted.push([name, json.id]);
  }
  ids = Object.fromEntries(accepted);
  expect((await app.call("POST", `/api/v1/emails/${ids.canceled}/cancel`)).status).toBe(200);
  await app.app.stop();
  for (const words of [
    ["backup", "create", "--out", join(folder, "backup"), "--with-key"],
    ["log", "export", "--out", join(folder, "log.zst")],
  ])
    expect(await runCommand(words, dataDir)).toMatchObject({ exitCode: 0 });
}, MS_MAX);

afterAll(async () => {
  await sink.close();
});

async function restored(): Promise<HeldLog> {
  const dataDir = join(folder, "restored");
  expect(await runCommand(["backup", "restore", join(folder, "backup")], dataDir)).toMatchObject({
    exitCode: 0,
  });
  return { dataDir, env: {} };
}

async function imported(): Promise<HeldLog> {
  const { url } = await startEventStoreDb();
  const dataDir = join(folder, "imported");
  await mkdir(dataDir);
  await cp(join(folder, "original", "content"), join(dataDir, "content"), { recursive: true });
  const masterKey = (await readFile(join(folder, "original", "master.key"), "utf8")).trim();
  const env = { STORE_URL: url, MASTER_KEY: masterKey };
  expect(await runCommand(["log", "import", join(folder, "log.zst")], dataDir, env)).toMatchObject({
    exitCode: 0,
  });
  return { dataDir, env };
}

/** Kills itself as soon as it has recorded one message as sent. */
function killedProgram(): Promise<string> {
  const from = 'return (await recordSentByOperator(store, String(id), context)) === "recorded";';
  const to = 'await recordSentByOperator(store, String(id), context); process.kill(process.pid, "SIGKILL");';
  return changedProgram("killed-except", [
    { file: "src/cli/delivery/exceptedEmails.ts", from, to: `${to} return true;` },
  ]);
}

describe.each([
  ["a restored backup", true, restored],
  ["an export in EventStoreDB", canStartEventStoreDb, imported],
] as const)("delivery resume --except on %s", (name, isPossible, createCopy) => {
  test.skipIf(!isPossible)(
    "records what was sent, and sends the rest",
    async () => {
      const { dataDir, env } = await createCopy();
      const file = join(folder, `${name}.txt`);
      const resume = async (lines: readonly string[], ...options: readonly string[]) => {
        await writeFile(file, lines.join("\n"));
        return runCommand(["delivery", "resume", "--except", file, ...options], dataDir, env);
      };
      const known = [
        ids.first ?? "",
        `<${ids.second}@example.com>\r`,
        `${ids.third?.toUpperCase()}@EXAMPLE.COM`,
        `<${ids.first}@example.com>`,
        "",
        "# what ended before",
        ids.canceled ?? "",
      ];

      const early = await resume(known);
      expect(early).toMatchObject({ exitCode: 1, out: "" });
      expect(early.err).toContain("the read models are not ready");

      const first = await startTestApp({ dataDir, env: { ...env, DELIVERY: "off" } });
      const caller = callerOf(first.url, apiKey);
      const own = message({ from: FROM, to: "new@example.net" });
      const accepted = (await caller.send(`except-new-${name}`, own)).json.id;
      expect((await caller.call("GET", "/api/v1/emails?limit=1")).status).toBe(200);
      await first.app.stop();

      const wrong = [
        ...known,
        "a word",
        `<${ids.first}@example.com> <${ids.second}@example.com>`,
        UNKNOWN,
        ids.simulated ?? "",
        accepted,
        "x".repeat(1_001),
        "<somebody@example.com>",
      ];
      const refused = await resume(wrong);
      expect(refused).toMatchObject({ exitCode: 1, out: "" });
      expect(refused.err.match(/ {2}line .*/g)).toEqual([
        "  line 8 is neither the id of a message nor a Message-ID of this service",
        "  line 9 is neither the id of a message nor a Message-ID of this service",
        "  line 10 names no message of this log",
        "  line 11 names simulated mail, which no relay can have sent",
        "  line 12 names a message that is not held and is delivered anyway",
        "  line 13 has more than 1,000 bytes",
        "  line 14 is neither the id of a message nor a Message-ID of this service",
      ]);
      expect(refused.err).toContain("--skip-unknown");
      const many = await resume(Array.from({ length: 2_000 }, () => "a word"));
      expect(many.err).toContain("  line 10 is neither");
      expect(many.err).not.toContain("  line 11 ");
      expect(many.err).toContain("  and 1,990 more");

      const counts = { excepted: 3, already_ended: 1, unknown: 1, resumed: 0, may_repeat: 0 };
      const released = { emails: 4, webhook_deliveries: 0, verification_mails: 0, may_repeat: 3 };
      const dry = await resume([...known, UNKNOWN], "--skip-unknown", "--dry-run", "--json");
      expect(dry.json).toMatchObject({ dry_run: true, ...counts, released });

      if (name === "a restored backup") {
        const root = await killedProgram();
        const words = ["delivery", "resume", "--except", file, "--skip-unknown"];
        const killed = await runProcess([...sourceCommandLine(root), ...words], {
          env: commandEnv(dataDir, env),
        });
        await rm(root, { recursive: true });
        expect(killed).toMatchObject({ out: "", err: "" });
        const { json } = await resume([...known, UNKNOWN], "--skip-unknown", "--dry-run", "--json");
        expect(json).toMatchObject({ released });
        expect(json.excepted).toBeLessThan(3);
        expect(json.excepted + json.already_ended).toBe(4);
        const rest = await resume([...known, UNKNOWN], "--skip-unknown");
        expect(rest).toMatchObject({ exitCode: 0, err: "" });
        expect(rest.out).toStartWith(`DATA_DIR ${dataDir} (`);
        expect(rest.out).toContain(`already sent, and recorded as sent: ${json.excepted} message`);
        expect(rest.out).toContain("ignored: 1 message that this log does not have\n");
        expect(rest.out).toContain("resumed now: 4 messages, 0 webhook deliveries");
        expect(rest.out).toContain("\n3 of them may be repeats of what was delivered after ");
      } else {
        const { json } = await resume([...known, UNKNOWN], "--skip-unknown", "--json");
        expect(json).toMatchObject({ ...counts, released });
      }
      const again = await resume(known, "--json");
      expect(again.json).toMatchObject({ excepted: 0, already_ended: 4, released: null });

      const relay = { SMTP_URL: `smtp://127.0.0.1:${sink.port}`, DELIVERY: "on" };
      const before = sink.record.messages.length;
      const service = await startTestApp({ dataDir, env: { ...env, ...relay } });
      try {
        const { call } = callerOf(service.url, apiKey);
        const statusOf = async (id = "") => (await call("GET", `/api/v1/emails/${id}`)).json.status;
        for (const id of [ids.fourth, ids.fifth, ids.simulated, accepted])
          await until(async () => ["sent", "delivered"].includes(await statusOf(id)), "the rest to be sent");
        const receivers = sink.record.messages.slice(before).flatMap(({ to }) => to);
        expect(receivers.sort()).toEqual(["fifth@example.net", "fourth@example.net", "new@example.net"]);
        for (const id of [ids.first, ids.second, ids.third]) {
          const { json } = await call("GET", `/api/v1/emails/${id}`);
          expect(json).toMatchObject({ status: "sent", attempts: 0, waiting: null });
          const unknown = { attempt: 0, transport: "unknown", reply: "", source: "operator" };
          expect(json.timeline.slice(2)).toEqual([
            { type: "sent", at: expect.any(String), sequence: 2, ...unknown },
          ]);
        }
        expect(await statusOf(ids.canceled)).toBe("canceled");
        const entries = await call("GET", "/api/v1/audit-log?action=email.recorded_as_sent");
        const targets = entries.json.data.map((entry: { target: { id: string } }) => entry.target.id);
        expect(targets.sort()).toEqual([ids.first, ids.second, ids.third].sort());
        expect(entries.json.data[0]).toMatchObject({ actor: { type: "command_line" } });
      } finally {
        await service.app.stop();
      }
    },
    MS_MAX,
  );
});

describe("what the documentation takes from a relay's log", () => {
  const page = PAGES.find(({ path }) => path === "docs/backups.md");
  const block = page?.blocks.find(({ text }) => text.startsWith("awk "))?.text ?? "";

  test("is the Message-ID of each message of ours that Postfix has queued", async () => {
    const [ours, deferred, rejected] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()];
    const log = `
2026-11-21T03:12:01.1+00:00 mail postfix/smtpd[11]: 4F1B2C3D4E: client=app[192.0.2.7]
2026-11-21T03:12:01.2+00:00 mail postfix/cleanup[12]: 4F1B2C3D4E: message-id=<${ours}@example.com>
2026-11-21T03:12:01.3+00:00 mail postfix/qmgr[13]: 4F1B2C3D4E: from=<hello@example.com>, size=812, nrcpt=1 (queue active)
2026-11-21T03:12:02.1+00:00 mail postfix/smtp[14]: 4F1B2C3D4E: to=<ana@example.org>, relay=mx.example.org[192.0.2.9]:25, delay=0.9, dsn=2.0.0, status=sent (250 ok)
2026-11-21T03:12:02.2+00:00 mail postfix/qmgr[13]: 4F1B2C3D4E: removed
Nov 21 03:13:01 mail postfix/cleanup[12]: 4zXbQy2KzJz1l: message-id=<${deferred}@example.com>
Nov 21 03:13:01 mail postfix/qmgr[13]: 4zXbQy2KzJz1l: from=<hello@example.com>, size=812, nrcpt=1 (queue active)
Nov 21 03:13:01 mail postfix/smtp[14]: 4zXbQy2KzJz1l: to=<bo@example.org>, relay=none, delay=30, dsn=4.4.1, status=deferred (timed out)
Nov 21 03:18:01 mail postfix/qmgr[13]: 4zXbQy2KzJz1l: from=<hello@example.com>, size=812, nrcpt=1 (queue active)
Nov 21 03:20:01 mail postfix/cleanup[12]: 5A00000001: message-id=<${rejected}@example.com>
Nov 21 03:20:01 mail postfix/cleanup[12]: 5A00000001: milter-reject: END-OF-MESSAGE from app[192.0.2.7]: 5.7.1 no
Nov 21 03:21:01 mail postfix/cleanup[12]: 5A00000002: message-id=<20261121032101.5A00000002@mail.example.com>
Nov 21 03:21:01 mail postfix/qmgr[13]: 5A00000002: from=<root@mail.example.com>, size=400, nrcpt=1 (queue active)
`;
    const cwd = await mkdtemp(join(folder, "relay-"));
    await writeFile(join(cwd, "mail.log"), log.trimStart());
    const [command = ""] = block.split("\nDATA_DIR=");
    await runProcess(["sh", "-c", command.replace("/var/log/mail.log", "mail.log")], {
      env: process.env,
      cwd,
    });
    const lines = (await readFile(join(cwd, "sent.txt"), "utf8")).trim().split("\n");
    expect([...new Set(lines)]).toEqual([`<${ours}@example.com>`, `<${deferred}@example.com>`]);
  });
});
