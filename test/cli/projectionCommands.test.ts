import { beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { emails } from "../../projections/emails/emails.ts";
import { sqliteReadDatabases } from "../../src/adapters/sqlite/readModelDatabases.ts";
import { UsageError } from "../../src/cli/program/command.ts";
import { createProgram, invocationOf } from "../../src/cli/program/commanderProgram.ts";
import { commandGroups } from "../../src/cli/program/commandGroups.ts";
import { type EmailEvent, emailStream } from "../../src/domain/email/events.ts";
import { templateStream } from "../../src/domain/template/events.ts";
import { metadataOf } from "../../src/kernel/event/eventMetadata.ts";
import { rfc3339 } from "../../src/kernel/time.ts";
import type { EventStore } from "../../src/ports/eventStore.ts";
import { readConfig } from "../../src/service/config/config.ts";
import { currentFile, rowsOf } from "../readModels/followFixtures.ts";
import { acceptance } from "../support/emailHistories.ts";
import { COMMAND_LINE } from "../support/process/program.ts";
import { commandEnv, runCommand } from "../support/process/runCommand.ts";
import { startProcess } from "../support/process/runProcess.ts";
import { startOnTerminal } from "../support/process/terminal.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";
import { openLog } from "../support/tenants.ts";
import { until } from "../support/until.ts";

const NOON = Date.parse("2026-01-01T12:00:00Z");
const TEST_MS_MAX = 180_000;
const MESSAGES = 20;

const directory = temporaryFolder();
const dataDir = join(directory, "data");
const storage = { databases: sqliteReadDatabases, directory: join(dataDir, "projections"), logId: "" };
const run = (...words: string[]) => runCommand(words, dataDir);
const ids = Array.from({ length: MESSAGES }, () => crypto.randomUUID()).sort();
const [first = "", second = "", third = ""] = ids;
const tableNames = emails.tables.map(({ name }) => name);

/** Appends a message that was accepted `minute` minutes after noon, and its later events, a second apart. */
async function write(store: EventStore, id: string, minute: number, later: readonly EmailEvent[]) {
  const at = NOON + minute * 60_000;
  const events = [...acceptance({ at }), ...later].map(({ type, data }, index) => {
    const metadata = metadataOf({
      at: at + Math.max(0, index - 1) * 1_000,
      correlationId: "test",
      actor: "test",
      workspaceId: "workspace",
    });
    return { id: crypto.randomUUID(), type, data, metadata };
  });
  await store.append(emailStream(id), events, "noStream");
}

const started: EmailEvent = {
  type: "EmailDeliveryStarted",
  data: { attempt: 1, worker: "w", leaseMs: 1_000, transport: "smtp" },
};
const failed: EmailEvent = {
  type: "EmailFailed",
  data: { attempt: 1, reason: 'said "no", twice\r\n', reply: "554" },
};

beforeAll(async () => {
  const log = await openLog({ HOST: "127.0.0.1", DATA_DIR: dataDir });
  for (const [minute, id] of ids.entries()) {
    await write(log.store, id, minute, minute === 0 ? [started, failed] : []);
  }
  await log.store.close();
  expect(await run("projection", "rebuild")).toMatchObject({ exitCode: 0, err: "" });
}, TEST_MS_MAX);

function tamper(...statements: string[]): void {
  const db = storage.databases.open(join(storage.directory, currentFile({ ...storage }, "emails")), "write");
  for (const statement of statements) db.run(statement);
  db.close();
}

describe("verify and rebuild", () => {
  test(
    "report each difference with its event, and repair it; doctor reports both",
    async () => {
      tamper(
        `UPDATE emails SET status = 'sent' WHERE id = '${first}'`,
        `DELETE FROM emails WHERE id = '${second}'`,
        `UPDATE emails SET id = 'nobody' WHERE id = '${third}'`,
      );
      const found = await run("projection", "verify", "emails");
      expect(found).toMatchObject({ exitCode: 1, err: "" });
      const lines = found.out.split("\n");
      expect(lines[0]).toBe(
        `emails  emails ["${first}"]  status is "sent", according to the log "failed"  (EmailFailed, stream email-${first}, revision 3, ${rfc3339(NOON + 2_000)})`,
      );
      expect(lines[1]).toStartWith(
        `emails  emails ["${second}"]  is missing; according to the log it is {"id":"${second}",`,
      );
      expect(lines[1]).toEndWith(
        `(EmailQueued, stream email-${second}, revision 1, ${rfc3339(NOON + 60_000)})`,
      );
      expect(lines[3]).toStartWith('emails  emails ["nobody"]  should not exist; it is {"id":"nobody",');
      expect(lines[3]).toEndWith("(no event says so)");
      expect(lines[4]).toMatch(/^emails {2}\d+ rows, 4 differences$/);
      const withFault = await run("doctor", "--json");
      expect(withFault.exitCode).toBe(1);
      const finding = { name: "verification of the read model emails", status: "failed" };
      expect(withFault.json).toContainEqual({
        ...finding,
        detail: expect.stringContaining("4 differences"),
        action: expect.stringContaining("postledger projection rebuild emails"),
      });

      const rebuilt = await run("projection", "rebuild", "emails", "emails", "--json");
      expect(rebuilt).toMatchObject({ exitCode: 0, err: "" });
      expect(rebuilt.json).toMatchObject([{ name: "emails", outcome: "current", resumed_from: null }]);
      const verified = await run("projection", "verify", "--json");
      expect(verified).toMatchObject({ exitCode: 0, err: "" });
      expect(verified.json.differences).toEqual([]);
      const healthy = await run("doctor");
      expect(healthy.out).toMatch(
        /ok {7}verification of the read models: \d+ of \d+ verified, [\d,]+ rows, no difference/,
      );
    },
    TEST_MS_MAX,
  );

  test(
    "show on a terminal how far they are, how fast, and how long it will take",
    async () => {
      const words = [...COMMAND_LINE, "projection", "rebuild", "emails"];
      const terminal = startOnTerminal(words, { env: commandEnv(dataDir) });
      expect(await terminal.exited).toBe(0);
      await until(() => terminal.screen().includes("current"), "the result on the terminal");
      expect(terminal.screen()).toMatch(/rebuild \[#{30}\] \d+ events, \d+\/s, 0 s left/);
      // The bar is gone when the result is there.
      expect(terminal.screen()).toContain("\r\x1b[Kemails  current");
    },
    TEST_MS_MAX,
  );
});

test(
  "Ctrl-C ends a rebuild with what it has built, and the same command goes on from there",
  async () => {
    const own = join(directory, "long");
    const log = await openLog({ HOST: "127.0.0.1", DATA_DIR: own });
    const retried = Array.from({ length: 300 }, (_, index): EmailEvent[] => [
      { ...started, data: { ...started.data, attempt: index + 1 } } as EmailEvent,
      {
        type: "EmailDeferred",
        data: {
          attempt: index + 1,
          reason: "recipient_deferred",
          attemptBurnt: true,
          ambiguous: false,
          nextAttemptAt: rfc3339(NOON),
        },
      },
    ]).flat();
    for (let message = 0; message < 200; message += 1) {
      await write(log.store, crypto.randomUUID(), message, retried);
    }
    await log.store.close();
    const words = [...COMMAND_LINE, "projection", "rebuild", "emails"];
    const rebuild = startProcess(words, { env: commandEnv(own) });
    const files = () => {
      try {
        return readdirSync(join(own, "projections"));
      } catch {
        return [];
      }
    };
    await until(() => files().some((file) => file.startsWith("emails")), "the rebuild to begin", TEST_MS_MAX);
    rebuild.kill("SIGINT");
    expect(await rebuild.ended).toMatchObject({
      exitCode: 130,
      err: "postledger: interrupted; the same command continues from here within a day\n",
    });
    const file = `emails.${emails.version}.1.db`;
    expect(files()).toContain(`${file}.saved`);
    const rebuiltAgain = await runCommand(["projection", "rebuild", "emails"], own);
    expect(rebuiltAgain).toMatchObject({ exitCode: 0, err: "" });
    expect(rebuiltAgain.out).toBe(`emails  current  ${file}  continued an interrupted rebuild\n`);
    const rows = rowsOf({ ...storage, directory: join(own, "projections") }, emails).emails;
    expect(rows).toHaveLength(200);
    expect(new Set(rows?.map(({ attempts }) => attempts))).toEqual(new Set([300]));
  },
  TEST_MS_MAX,
);

describe("as-of", () => {
  test(
    "writes JSON lines, to standard output or a file",
    async () => {
      const { exitCode, out } = await run("projection", "as-of", rfc3339(NOON + 60_000), "emails");
      expect(exitCode).toBe(0);
      const lines = out
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
      const messages = lines.filter(({ table }) => table === "emails").map(({ row }) => [row.id, row.status]);
      expect(messages).toEqual([
        [first, "failed"],
        [second, "queued"],
      ]);
      const path = join(directory, "emails.jsonl");
      const { json } = await run("projection", "as-of", "2026-01-02", "emails", "--out", path, "--json");
      expect(json).toMatchObject({ name: "emails", as_of: "2026-01-02T00:00:00.000Z" });
      expect(json.tables.map(({ table }: { table: string }) => table)).toEqual(tableNames);
      expect(json.tables[0]).toEqual({ table: "emails", rows: MESSAGES, file: path });
      const written = readFileSync(path, "utf8").trimEnd().split("\n");
      const rows = json.tables.reduce((sum: number, table: { rows: number }) => sum + table.rows, 0);
      expect(written).toHaveLength(rows);
    },
    TEST_MS_MAX,
  );

  test(
    "writes CSV of one table, or one file for each",
    async () => {
      const moment = rfc3339(NOON + 2_000);
      const one = ["projection", "as-of", moment, "emails", "--table", "emails"];
      const { row } = JSON.parse((await run(...one)).out);
      const { out } = await run(...one, "--format", "csv");
      const fields = Object.values(row).map((value) => (value === null ? "" : String(value)));
      const quoted = fields.map((field) =>
        field.includes('"') ? `"${field.replaceAll('"', '""')}"` : field,
      );
      expect(out).toBe(`${Object.keys(row).join()}\r\n${quoted.join()}\r\n`);
      expect(out).toContain('"said ""no"", twice\r\n"');
      const path = join(directory, "table.csv");
      const all = ["projection", "as-of", moment, "emails", "--format", "csv"];
      expect((await run(...all, "--out", path)).exitCode).toBe(0);
      expect(readFileSync(join(directory, "table.emails.csv"), "utf8")).toBe(out);
      const files = readdirSync(directory).filter((file) => /^table\..*\.csv$/.test(file));
      expect(files.sort()).toEqual(tableNames.map((table) => `table.${table}.csv`).sort());
      expect(readdirSync(directory).filter((file) => file.endsWith(".partial"))).toEqual([]);
    },
    TEST_MS_MAX,
  );

  test(
    "overwrites no file",
    async () => {
      const kept = join(directory, "kept.csv");
      writeFileSync(kept, "precious");
      const ofTable = join(directory, "split.emails.csv");
      writeFileSync(ofTable, "precious");
      for (const [file, ...words] of [
        [kept, "as-of", "1h", "senders", "--out", kept],
        [kept, "diff", "2h", "1h", "senders", "--out", kept],
        [ofTable, "as-of", "1h", "emails", "--format", "csv", "--out", join(directory, "split.csv")],
      ] as const) {
        const refused = await run("projection", ...words);
        expect(refused).toMatchObject({
          exitCode: 1,
          err: expect.stringContaining(`${file} already exists`),
        });
        expect(readFileSync(file, "utf8")).toBe("precious");
      }
    },
    TEST_MS_MAX,
  );

  test.each<[string, readonly string[], string]>([
    ["no time", ["projection", "as-of"], "missing required argument 'time'"],
    ["a time that is none", ["projection", "as-of", "noon", "emails"], "noon is not a time"],
    ["no read model", ["projection", "as-of", "1h"], "missing required argument 'name'"],
    ["an unknown one", ["projection", "as-of", "1h", "mails"], "there is no projection mails"],
    ["an unknown format", ["projection", "as-of", "1h", "emails", "--format", "xml"], "--format takes"],
    [
      "an unknown table",
      ["projection", "as-of", "1h", "emails", "--table", "mail_queue"],
      "emails has no table mail_queue",
    ],
    [
      "several tables in one CSV",
      ["projection", "as-of", "1h", "emails", "--format", "csv"],
      "several tables",
    ],
    [
      "a folder that is not there",
      ["projection", "as-of", "1h", "emails", "--out", "/nowhere/x"],
      "cannot be written",
    ],
    ["one moment to compare", ["projection", "diff", "1h", "emails"], "missing required argument 'name'"],
    ["an unknown one to verify", ["projection", "verify", "mails"], "there is no projection mails"],
  ])("with %s is refused", async (_what, words, message) => {
    const config = readConfig({ HOST: "127.0.0.1", DATA_DIR: dataDir });
    const running = async () => {
      const program = createProgram(commandGroups, async (command, parser) => {
        await command.run(invocationOf(command, parser, () => config));
      });
      await program.parseAsync([...words], { from: "user" });
    };
    await expect(running()).rejects.toThrow(UsageError);
    await expect(running()).rejects.toThrow(message);
  });
});

test(
  "CSV guards what a spreadsheet would take for a formula",
  async () => {
    const templatesDir = join(directory, "templates");
    const log = await openLog({ HOST: "127.0.0.1", DATA_DIR: templatesDir });
    const at = rfc3339(NOON);
    const data = { workspaceId: "workspace", name: '=HYPERLINK("https://example.net")', at };
    const metadata = metadataOf({ at: NOON, correlationId: "test", actor: "test", workspaceId: "workspace" });
    const event = { id: crypto.randomUUID(), type: "TemplateCreated", data, metadata };
    await log.store.append(templateStream(first), [event], "noStream");
    await log.store.close();
    for (const words of [
      ["as-of", at, "templates", "--table", "templates"],
      ["diff", rfc3339(NOON - 1), at, "templates"],
    ]) {
      const { out } = await runCommand(["projection", ...words, "--format", "csv"], templatesDir);
      expect(out).toContain(`"'=HYPERLINK(""https://example.net"")"`);
    }
  },
  TEST_MS_MAX,
);

test(
  "diff shows what was added, removed and changed",
  async () => {
    const times = [rfc3339(NOON), rfc3339(NOON + 60_000)];
    const diffOf = async (from: string, to: string) => {
      const lines = await run("projection", "diff", from, to, "emails");
      expect(lines.exitCode).toBe(0);
      return lines.out
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line))
        .filter(({ table }) => table === "emails")
        .map(({ change, key, before, after }) => [change, key, before?.status, after?.status]);
    };
    const [from = "", to = ""] = times;
    expect(await diffOf(from, to)).toEqual([
      ["changed", [first], "queued", "failed"],
      ["added", [second], undefined, "queued"],
    ]);
    expect(await diffOf(to, from)).toEqual([
      ["changed", [first], "failed", "queued"],
      ["removed", [second], "queued", undefined],
    ]);
    const path = join(directory, "changes.csv");
    const out = await run(
      "projection",
      "diff",
      ...times,
      "emails",
      "--format",
      "csv",
      "--out",
      path,
      "--json",
    );
    expect(out.json).toMatchObject({ name: "emails", removed: 0, file: path });
    const records = readFileSync(path, "utf8").split("\r\n");
    expect(records[0]).toBe("table,key,change,column,before,after");
    expect(records).toContain(`emails,"[""${first}""]",changed,attempts,0,1`);
    expect(records).toContain(`emails,"[""${second}""]",added,status,,queued`);
  },
  TEST_MS_MAX,
);
