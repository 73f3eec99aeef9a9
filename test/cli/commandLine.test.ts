import { beforeAll, describe, expect, test } from "bun:test";
import { mkdir, mkdtemp, readdir } from "node:fs/promises";
import { join } from "node:path";
import { version } from "../../package.json";
import { openSqliteEventStore } from "../../src/adapters/sqlite/sqliteEventStore.ts";
import { commandGroups } from "../../src/cli/program/commandGroups.ts";
import { type OpenForCommand, withLog } from "../../src/cli/program/openStoreForCommand.ts";
import { apiKeyLastUse } from "../../src/commands/apiKey/apiKeyLastUse.ts";
import { issueKey } from "../../src/commands/apiKey/issueApiKey.ts";
import { newWorkspace } from "../../src/commands/workspace/manageWorkspace.ts";
import { SCOPES } from "../../src/domain/apiKey/scopes.ts";
import { SECOND_MS } from "../../src/kernel/time.ts";
import { readConfig } from "../../src/service/config/config.ts";
import { systemCommandContext } from "../../src/service/systemCommandContext.ts";
import {
  type CommandCall,
  type CommandCallResult,
  sharedCommandProcess,
} from "../support/process/commandProcess.ts";
import { COMMAND_LINE } from "../support/process/program.ts";
import { runCalls } from "../support/process/runCalls.ts";
import { runCommand } from "../support/process/runCommand.ts";
import { runProcess } from "../support/process/runProcess.ts";
import { startNameServer } from "../support/servers/nameServer.ts";
import { canStartEventStoreDb, startEventStoreDb } from "../support/stores/eventstoredb.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";
import { until } from "../support/until.ts";

const TEST_MS_MAX = 120_000;
const COLUMNS_MAX = 80;
/** More workspaces than are offered to choose from. */
const MANY = 60;

const folder = temporaryFolder();

type Environment = Readonly<Record<string, string>>;

/** Makes a call in a folder, as somebody does who has set nothing but `env`. */
function call(words: readonly string[], { cwd = folder, env = {} as Environment } = {}) {
  return sharedCommandProcess().run({ words, cwd, env });
}

/** As {@link call}, in a process of its own. */
async function callProgram(words: readonly string[]): Promise<CommandCallResult> {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME };
  const { exitCode, out, err } = await runProcess([...COMMAND_LINE, ...words], { cwd: folder, env });
  return { status: exitCode, out, err };
}

const commands = commandGroups.flatMap((group) => group.commands);

/** How calls end; for use within tests. */
function runBeforeAll(calls: () => readonly CommandCall[]): (index: number) => CommandCallResult {
  let ends: readonly CommandCallResult[] = [];
  beforeAll(async () => {
    ends = await runCalls(calls());
  }, TEST_MS_MAX);
  return (index) => ends[index] as CommandCallResult;
}

describe("a mistake", () => {
  const suggestions = [
    ["docter", "unknown command 'docter'. Did you mean doctor?"],
    ["workspace lst", "unknown command 'lst' of workspace. Did you mean list?"],
    ["list", "Did you mean workspace list, "],
    ["create workspace", "Did you mean workspace create?"],
    ["help docter", "Did you mean doctor?"],
    ["docter --help", "Did you mean doctor?"],
    ["help workspace lst", "Did you mean list?"],
    ["workspace", "workspace needs a command"],
    ["", "a command is needed"],
    ["workspace create", "missing required argument 'name'"],
    ["workspace create Acme Ltd", "too many arguments for 'create'"],
    ["workspace create Acme\nforged", "the name must have visible characters, and no control characters"],
    ["workspace create 0192F8A1-7C1E-7B6E-9D55-0F3F4D1C2B3A", "the name must not have the form of an id"],
    ["workspace limits any --message-per-day 5", "Did you mean --messages-per-day?"],
    ["workspace limits any --messages-per-day", "'--messages-per-day <n>' argument missing"],
    ["sender add a@example.com --worksapce 1", "unknown option '--worksapce'. Did you mean --workspace?"],
    ["backup create", "missing option '--out <dir>'"],
    ["-v", "unknown option '-v'. Did you mean --version?"],
    ["serve --port 8080", "unknown option '--port'. Settings come from the environment: PORT=8080 "],
    ["--host 0.0.0.0 serve", "unknown option '--host'. Settings come from the environment: "],
    ["doctor --jsn", "Did you mean --json?"],
    ["projection as-of 2h", "missing required argument 'name'"],
  ] as const;
  const endOf = runBeforeAll(() =>
    suggestions.map(([line]) => ({ words: line.split(" ").filter((word) => word !== ""), cwd: folder })),
  );
  test.each(suggestions.map(([line, message], index) => [line, message, index] as const))(
    "in %p is reported in two lines, and the exit status is 2",
    (_line, message, index) => {
      const { status, out, err } = endOf(index);
      expect({ status, out }).toEqual({ status: 2, out: "" });
      expect(err).toStartWith("postledger: ");
      expect(err).toContain(message);
      expect(err.trimEnd().split("\n")).toHaveLength(2);
    },
  );

  test("in what a command was given shows how that command is called, and no other", async () => {
    const { err } = await call(["backup", "create"]);
    expect(err.split("\n")[1]).toBe("Usage: bun run postledger backup create --out <dir> [options]");
  });

  test.each([
    [["docter", "--json"], 2, "wrong_usage"],
    [["--json", "workspace"], 2, "wrong_usage"],
    [["workspace", "create", "--json"], 2, "wrong_usage"],
    [["workspace", "list", "--json"], 1, "no_data"],
    [["backup", "verify", "nowhere", "--json"], 1, "refused"],
  ] as const)("in %p is one JSON object on standard error", async (words, status, code) => {
    const result = await callProgram(words);
    expect({ ...result, err: JSON.parse(result.err) }).toEqual({
      ...{ status, out: "" },
      err: { error: expect.objectContaining({ code, message: expect.any(String) }) },
    });
    expect(result.err.trimEnd().split("\n")).toHaveLength(1);
  });

  test("in the settings is JSON too, and an answer before anything is looked for", async () => {
    const { status, err } = await call(["doctor", "--json"], { env: { PORT: "http" } });
    expect(status).toBe(2);
    expect(JSON.parse(err).error).toMatchObject({
      code: "settings",
      message: expect.stringContaining("PORT"),
    });
  });

  test("in the settings keeps no command from working that needs none", async () => {
    const env = { AUDIT_SIGNING_KEY_FILE: "seal.key" };
    expect(await call(["audit", "keygen", "seal.key"], { env })).toMatchObject({ status: 0, err: "" });
  });
});

describe("with --json", () => {
  /** What needs a running service, a name server or a message. */
  const ELSEWHERE = ["serve", "dashboard link", "sender check", "email show", "email try-now"];

  /** Every member's name in a value, however deep. */
  function namesIn(value: unknown): readonly string[] {
    if (typeof value !== "object" || value === null) return [];
    const names = Array.isArray(value) ? [] : Object.keys(value);
    return [...names, ...Object.values(value).flatMap(namesIn)];
  }

  test(
    "every command names the members of its result as the API does",
    async () => {
      const cwd = join(folder, "names");
      const data = join(cwd, "data");
      await mkdir(cwd);
      const called: string[][] = [];
      const run = async (env: Record<string, string>, ...calls: readonly string[]) => {
        const words = calls.map((one) => one.split(" "));
        called.push(...words);
        const settings = { DATA_DIR: data, DISK_FREE_BYTES_MIN: "0", ...env };
        const ends = await runCalls(words.map((one) => ({ words: [...one, "--json"], cwd, env: settings })));
        expect(ends.map(({ err }) => err)).toEqual(calls.map(() => ""));
        return ends.map(({ out }) => JSON.parse(out));
      };
      await Bun.write(join(cwd, "list.txt"), "bob@example.com\n");
      await Bun.write(join(cwd, "mail/welcome/template.json"), '{"name":"Welcome","subject":"Welcome"}');
      await Bun.write(join(cwd, "mail/welcome/text.liquid"), "Hello.\n");
      const first = await run(
        {},
        ...["workspace create Acme", "api-key create --all-scopes", "erasure request ana@example.com"],
        ...["sender add acme.example", "suppression add ana@example.com", "suppression import list.txt"],
      );
      const [{ id: workspaceId }, { id }, [{ id: erasureId }]] = first;
      const ofOne = await run(
        {},
        ...["workspace list", "workspace limits", "workspace pause", "workspace resume"],
        `workspace rename ${workspaceId} Shop`,
        ...["sender verify acme.example", "sender disable acme.example", "sender enable acme.example"],
        ...["sender rename acme.example --name Acme", "sender list"],
        ...[`api-key rename ${id} shop`, `api-key rotate ${id}`, `api-key revoke ${id}`, "api-key list"],
        ...["suppression list", "suppression remove ana@example.com"],
        ...["template push mail", "template pull pulled"],
        ...["erasure list", `erasure show ${erasureId}`, `audit log --workspace ${workspaceId}`],
      );
      const ofAll = await run(
        {},
        ...["audit log", "audit keygen seal.key", "audit seal", "audit verify", "doctor", "version"],
        ...["projection rebuild", "projection list", "projection verify", "delivery resume"],
        ...["projection as-of 0s emails --out emails.jsonl", "projection diff 1d 0s emails --out diff.jsonl"],
        ...[
          "backup create --out copy",
          "backup verify copy",
          "backup follow --out kept --once",
          "log export --out log.zst",
          "log unfreeze",
        ],
      );
      const masterKey = (await Bun.file(join(data, "master.key")).text()).trim();
      const imported = { DATA_DIR: join(cwd, "imported"), CONTENT_URL: `file:${join(data, "content")}` };
      const copies = [
        ...(await run({ DATA_DIR: join(cwd, "restored"), MASTER_KEY: masterKey }, "backup restore copy")),
        ...(await run({ ...imported, MASTER_KEY: masterKey }, "log import log.zst")),
      ];
      const names = new Set(namesIn([...first, ...ofOne, ...ofAll, ...copies]));
      expect([...names].filter((name) => !/^[a-z0-9]+(_[a-z0-9]+)*$/.test(name))).toEqual([]);
      const isCalled = (name: string) => called.some((words) => words.join(" ").startsWith(name));
      const uncalled = commands.map(({ name }) => name).filter((name) => !isCalled(name));
      expect(uncalled, "a new command: call it here, or name it in ELSEWHERE").toEqual(ELSEWHERE);
    },
    TEST_MS_MAX,
  );
});

describe("help", () => {
  const calls = [
    [],
    ["help"],
    ...commandGroups.map(({ noun }) => [noun]),
    ...commands.map(({ name }) => name.split(" ")),
  ];

  const shownOf = runBeforeAll(() => calls.map((words) => ({ words: [...words, "--help"] })));
  const helpOf = runBeforeAll(() => calls.map((words) => ({ words: ["help", ...words] })));

  test("of a call in a process of its own is the same", async () => {
    const words = ["workspace", "create"];
    const at = calls.findIndex((one) => one.join(" ") === words.join(" "));
    expect(await callProgram([...words, "--help"])).toEqual(shownOf(at));
    expect(await callProgram(["help", ...words])).toEqual(helpOf(at));
  });

  test.each(calls.map((words, index) => [words.join(" "), words, index] as const))(
    "of %p fits a terminal, shows how it is called, and an example",
    (_name, words, index) => {
      const [shown, asked] = [shownOf(index), helpOf(index)];
      expect(shown).toMatchObject({ status: 0, err: "" });
      expect(shown.out).toStartWith(`Usage: ${["bun run postledger", ...words].join(" ")} `);
      expect(shown.out).toContain("\nExamples:\n");
      expect(shown.out).toContain(" postledger ");
      expect(shown.out.split("\n").filter((line) => line.length > COLUMNS_MAX)).toEqual([]);
      expect(shown.out).not.toContain("\x1b");
      expect(asked).toEqual(shown);
    },
  );

  test("of every option says what holds without it, and of every operand what it is", () => {
    for (const { options = [], operands = [] } of commands) {
      for (const { value, help, isRequired } of options) {
        const isDocumented = isRequired === true || value === null || help.includes("(default: ");
        expect({ help, isDocumented }).toEqual({ help, isDocumented: true });
      }
      for (const { help } of operands) expect(help).not.toBe("");
    }
  });

  test("has colours on a terminal alone, and not where NO_COLOR is set", async () => {
    const onTerminal = async (env: Environment) => {
      let shown = "";
      const child = Bun.spawn([...COMMAND_LINE, "help"], {
        env: { PATH: process.env.PATH, TERM: "xterm-256color", ...env },
        terminal: {
          cols: COLUMNS_MAX,
          data(_terminal, data) {
            shown += data.toString();
          },
        },
      });
      await child.exited;
      return shown;
    };
    expect(await onTerminal({})).toContain("\x1b[1mUsage:");
    expect(await onTerminal({ NO_COLOR: "1" })).not.toContain("\x1b[1m");
  });

  test("is not needed for the version", async () => {
    for (const word of ["--version", "-V", "version"])
      expect(await callProgram([word])).toEqual({ status: 0, out: `${version}\n`, err: "" });
    const asJson = await call(["version", "--json"]);
    expect(asJson).toEqual({ status: 0, out: `${JSON.stringify({ version })}\n`, err: "" });
  });
});

/** Writes what a service writes when a key is used. */
async function recordUse(dataDir: string, keyId: string, at: string): Promise<void> {
  const store = openSqliteEventStore({ path: join(dataDir, "events.db") });
  const uses = apiKeyLastUse(store);
  uses.note(keyId, Date.parse(at));
  await uses.write("worker:test");
  await store.close();
}

describe("api-key list", () => {
  test(
    "says of each key whether it opens anything, in the words of the API, and when it ends",
    async () => {
      const dataDir = await mkdtemp(join(folder, "keys-"));
      const run = (...words: string[]) => runCommand(words, dataDir);
      const workspace = (await run("workspace", "create", "Acme")).out.trim();
      const of = ["--workspace", workspace] as const;
      const expires = new Date(Date.now() + 3 * SECOND_MS).toISOString();
      const create = async (...words: string[]) =>
        (await run("api-key", "create", ...of, "--scopes", "email:read", ...words, "--json")).json;
      const [lasting, passing, revoked] = [
        await create(),
        await create("--expires", expires, "--name", "passing"),
        await create(),
      ];
      await run("api-key", "revoke", revoked.id);
      await recordUse(dataDir, passing.id, "2026-11-21T02:00:00.000Z");
      const list = async () => (await run("api-key", "list", ...of, "--json")).json;
      await until(() => Date.now() > Date.parse(expires), "the key to expire");
      expect(await list()).toMatchObject([
        { id: lasting.id, status: "active", expires_at: null, last_used_at: null },
        { id: passing.id, status: "expired", expires_at: expires, last_used_at: "2026-11-21T02:00:00.000Z" },
        { id: revoked.id, status: "revoked", expires_at: null },
      ]);
      const { out } = await run("api-key", "list", ...of);
      expect(out).toContain(
        `${passing.id}  expired  until ${expires}  last used in the hour from 2026-11-21T02:00:00.000Z  passing  email:read\n`,
      );
      expect(out).toContain(`${lasting.id}  active   does not expire  never used  `);
    },
    TEST_MS_MAX,
  );
});

test(
  "api-key list names a replacement whose rotation was not recorded: nobody has its secret",
  async () => {
    const dataDir = await mkdtemp(join(folder, "rotations-"));
    const run = (...words: string[]) => runCommand(words, dataDir);
    await run("workspace", "create", "Acme");
    const { id } = (await run("api-key", "create", "--all-scopes", "--json")).json;
    const rotated = (await run("api-key", "rotate", id, "--json")).json;
    const store = openSqliteEventStore({ path: join(dataDir, "events.db") });
    const [issued] = await store.read(`apikey-${rotated.id}`, 0, 1);
    if (issued === undefined) throw new Error("the key was issued");
    const { type, data, metadata } = issued;
    await store.append(
      "apikey-LeftByRotate",
      [{ id: crypto.randomUUID(), type, data, metadata }],
      "noStream",
    );
    await store.close();
    const keys = (await run("api-key", "list", "--json")).json;
    expect(keys).toMatchObject([
      { id, handed_out: true },
      { id: rotated.id, handed_out: true },
      { id: "LeftByRotate", handed_out: false },
    ]);
    const remarks = (await run("api-key", "list")).out
      .split("\n")
      .filter((line) => line.includes("nobody has its secret"));
    expect(remarks).toEqual([expect.stringContaining("LeftByRotate")]);
  },
  TEST_MS_MAX,
);

describe("a place that cannot be written to", () => {
  test(
    "is named with the reason, and is no fault of Postledger",
    async () => {
      const dataDir = await mkdtemp(join(folder, "places-"));
      await runCommand(["workspace", "create", "Acme"], dataDir);
      const file = join(folder, "a-file");
      await Bun.write(file, "");
      const errorOf = async (where: string, ...words: string[]) => (await runCommand(words, where)).err;
      expect(await errorOf(dataDir, "backup", "create", "--out", join(file, "backup"))).toBe(
        `postledger: ${file}/backup cannot be used: there is a file of that name, or on the way to it (ENOTDIR)\n`,
      );
      expect(await errorOf(dataDir, "log", "export", "--out", join(file, "log.zst"))).toContain(
        `${file}/log.zst cannot be used: `,
      );
      expect(await errorOf(join(file, "data"), "workspace", "create", "Acme")).toContain(
        `${file}/data cannot be used: `,
      );
      const missing = join(folder, "missing");
      for (const words of [
        ["audit", "keygen", join(missing, "key")],
        ["log", "export", "--freeze", "--out", join(missing, "log.zst")],
      ]) {
        expect(await errorOf(dataDir, ...words)).toBe(`postledger: there is no directory ${missing}\n`);
      }
      expect((await runCommand(["log", "unfreeze"], dataDir)).out).toBe("the log is not frozen\n");
    },
    TEST_MS_MAX,
  );
});

/** What the log holds of a workspace and its key, whose name was given before names were looked at. */
async function logWithName(dataDir: string, name: string): Promise<{ workspace: string; id: string }> {
  const created = await withLog(
    readConfig({ HOST: "127.0.0.1", DATA_DIR: dataDir }),
    async ({ deps }) => {
      const context = systemCommandContext("cli");
      const workspace = await newWorkspace(deps, name, context);
      const scopes = ["email:read"] as const;
      const issue = {
        workspaceId: workspace,
        name,
        scopes,
        expiresAt: null,
        senders: null,
        clientRanges: null,
      };
      return { workspace, key: await issueKey(deps, issue, context) };
    },
    { begins: true, writes: true },
  );
  return { workspace: created.workspace, id: created.key?.id ?? "" };
}

describe("a name that a tenant has given", () => {
  test(
    "moves no cursor, hides nothing and begins no line of its own",
    async () => {
      const dataDir = await mkdtemp(join(folder, "names-"));
      const run = (...words: string[]) => runCommand(words, dataDir);
      const name = "\x1b[8mshop\n2030-01-01T00:00:00.000Z  forged\u202e\x9b2K";
      const shown = "\\u001b[8mshop\\u000a2030-01-01T00:00:00.000Z  forged\\u202e\\u009b2K";
      const { workspace, id } = await logWithName(dataDir, name);
      expect((await run("workspace", "list")).out).toBe(`${workspace}  active  ${shown}\n`);
      expect((await run("api-key", "list")).out).toBe(
        `${id}  active   does not expire  never used  ${shown}  email:read\n`,
      );
      const { out } = await run("audit", "log", "--workspace", workspace, "--action", "api_key.issued");
      expect(out.split("\n")).toEqual([expect.stringContaining(`  ${shown} ${id}  `), ""]);
      expect((await run("audit", "log", "--workspace", workspace, "--actor", id)).out).toBe("no entries\n");
      expect(await run("audit", "log", "--workspace", workspace, "--actor", "shop")).toMatchObject({
        exitCode: 2,
        err: expect.stringContaining("--actor takes the id of an API key, or one of command_line, "),
      });
      for (const [words, reason] of [
        [["no.such"], "--action takes one of these, not no.such: instance.created, "],
        [["api_key.issued"], "api_key.issued is done in a workspace: say which with --workspace <id>"],
        [["log.sealed", "--workspace", workspace], "log.sealed is done to the whole installation"],
      ] as const) {
        const refused = await run("audit", "log", "--action", ...words);
        expect(refused).toMatchObject({ exitCode: 2, err: expect.stringContaining(reason) });
      }
      expect((await run("api-key", "list", "--json")).json).toMatchObject([{ name }]);
      const refused = await run("api-key", "create", "--all-scopes", "--name", "sh\u200bop");
      expect(refused).toMatchObject({
        exitCode: 2,
        err: expect.stringContaining("--name must not hold U+200B"),
      });
    },
    TEST_MS_MAX,
  );
});

describe("keys and senders on the command line", () => {
  const started = async () => {
    const dataDir = await mkdtemp(join(folder, "tenants-"));
    const run = (...words: string[]) => runCommand(words, dataDir);
    const workspace = (await run("workspace", "create", "Acme")).out.trim();
    return { dataDir, run, of: ["--workspace", workspace] as const };
  };

  test(
    "default to the only workspace; of several one must be named, and an unknown one is reported",
    async () => {
      const { run, of } = await started();
      const billing = "billing@acme.example";
      expect((await run("sender", "add", billing)).out).toStartWith(`${billing} added\n`);
      expect((await run("sender", "verify", billing)).out).toBe(`${billing} verified\n`);
      expect((await run("sender", "list")).out).toContain(billing);
      expect((await run("sender", "add", "a@")).err).toContain("the address a@ has a domain (after the @)");
      expect((await run("sender", "add", "a")).err).toContain(
        "a is neither an address nor a domain such as ",
      );
      const { id } = (await run("api-key", "create", "--all-scopes", "--json")).json;
      expect((await run("api-key", "list")).out).toStartWith(`${id}  active`);
      await run("workspace", "create", "Beta");
      const ambiguous = await run("api-key", "list");
      expect(ambiguous).toMatchObject({ exitCode: 1, out: "" });
      expect(ambiguous.err).toContain(`${of[1]}  Acme`);
      expect(ambiguous.err).toEndWith("add --workspace <id>\n");
      expect(await run("erasure", "request", "ana@example.com")).toMatchObject({ exitCode: 1, out: "" });
      const everywhere = (await run("erasure", "request", "ana@example.com", "--all-workspaces")).out;
      expect(everywhere.trimEnd().split("\n")).toHaveLength(2);
      const listed = (await run("erasure", "list")).out;
      expect(listed).toMatch(new RegExp(`^\\S+  requested  \\S+Z  workspace ${of[1]}$`, "m"));
      expect(listed.trimEnd().split("\n")).toHaveLength(2);
      for (const words of [
        ["api-key", "list"],
        ["sender", "list"],
        ["sender", "verify", billing],
        ["erasure", "request", "ana@example.com"],
      ]) {
        expect((await run(...words, "--workspace", "Acme")).exitCode).toBe(0);
        for (const wrong of ["Gamma", crypto.randomUUID()]) {
          const hint = "`bun run postledger workspace list`";
          const { exitCode, out, err } = await run(...words, "--workspace", wrong);
          expect({ exitCode, out }).toEqual({ exitCode: 1, out: "" });
          expect(err).toStartWith(`postledger: there is no workspace ${wrong}\n${hint}`);
        }
      }
      const second = (await run("workspace", "create", "Acme")).out.trim();
      const several = await run("api-key", "list", "--workspace", "Acme");
      expect(several).toMatchObject({ exitCode: 1, out: "" });
      for (const id of [of[1], second]) expect(several.err).toContain(`${id}  Acme\n`);
      expect(several.err).toEndWith("give an id: several have this name\n");
    },
    TEST_MS_MAX,
  );

  test(
    "a domain is verified by its record, and what is there instead is shown",
    async () => {
      const { dataDir, run, of } = await started();
      const records = new Map<string, string>();
      const dns = await startNameServer((name) => [records.get(name) ?? []].flat());
      const verify = (sender: string) =>
        runCommand(["sender", "verify", sender, ...of, "--dns"], dataDir, { DNS_SERVERS: dns.address });
      const { name, value } = (await run("sender", "add", "acme.example", ...of, "--json")).json.dns_record;
      expect(await verify("acme.example")).toMatchObject({
        exitCode: 1,
        err: `postledger: there is no TXT record of ${name}: publish one that is "${value}"\n`,
      });
      records.set(name, "v=spf1 -all");
      expect((await verify("acme.example")).err).toContain('found "v=spf1 -all"');
      records.set(name, value);
      expect(await verify("acme.example")).toMatchObject({ exitCode: 0, out: "acme.example verified\n" });
      const [domain] = (await run("sender", "list", ...of, "--json")).json;
      expect(domain).toMatchObject({ status: "verified", verified_by: "dns" });
      expect(await verify("other.example")).toMatchObject({ exitCode: 1 });
      expect((await verify("ana@acme.example")).err).toContain("--dns is for a domain");
      dns.stop();
    },
    TEST_MS_MAX,
  );

  test(
    "a key is bound, rotated, and revoked with those that stem from it",
    async () => {
      const { run, of } = await started();
      const unsaid = await run("api-key", "create", ...of);
      expect(unsaid).toMatchObject({ exitCode: 2, out: "" });
      expect(unsaid.err).toContain("say what the key may do with --scopes");
      const all = (await run("api-key", "create", ...of, "--all-scopes", "--json")).json;
      expect(all.scopes).toEqual([...SCOPES]);
      const both = await run("api-key", "create", ...of, "--all-scopes", "--scopes", "email:send");
      expect(both.err).toContain("give --scopes or --all-scopes, not both");
      for (const scopes of ["", "email:send,"]) {
        const empty = await run("api-key", "create", ...of, "--scopes", scopes);
        expect(empty).toMatchObject({
          exitCode: 2,
          err: expect.stringContaining("the list has an empty name"),
        });
      }
      const staging = await run("api-key", "create", ...of, "--test");
      expect(staging.out).toMatch(/^pl_test_\w{50}\n$/);
      const refused = await run("api-key", "create", ...of, "--test", "--scopes", "webhook:manage");
      expect(refused.err).toContain(
        "a test key can hold email:send, email:read, email:status, attachment:manage",
      );
      const bound = ["--sender", "Shop.example, Ana@example.com", "--client-range", "10.0.0.0/8,::1"];
      const first = await run("api-key", "create", ...of, "--scopes", "email:send", ...bound, "--json");
      expect({ err: first.err, scopes: first.json.scopes }).toEqual({ err: "", scopes: ["email:send"] });
      await run("sender", "add", "acme.example", ...of);
      const mixed = "ops@acme.example,ann@acme.test,shop.example";
      const warned = await run("api-key", "create", ...of, "--scopes", "email:send", "--sender", mixed);
      expect(warned.out).toMatch(/^pl_\w+\n$/);
      expect(warned.err).toContain(
        "ann@acme.test is no sender of the workspace, so the key cannot send from it",
      );
      expect(warned.err).toContain(
        "shop.example is no sender of the workspace, so the key can send only from",
      );
      expect(warned.err).not.toContain("ops@acme.example");
      const repeated = ["--sender", "ann@acme.test", "--sender", "ops@acme.example,shop.example"];
      const twice = (await run("api-key", "create", ...of, "--all-scopes", ...repeated, "--json")).json;
      expect(twice.missing_senders).toEqual(["ann@acme.test", "shop.example"]);
      const second = (await run("api-key", "rotate", first.json.id, "--overlap-seconds", "0", "--json")).json;
      expect(second).toMatchObject({ rotated_from: first.json.id, key: expect.stringMatching(/^pl_/) });
      const third = (await run("api-key", "rotate", second.id, "--json")).json;
      const list = async () => {
        const keys: Record<string, unknown>[] = (await run("api-key", "list", ...of, "--json")).json;
        return Object.fromEntries(keys.map((key) => [key.id, key]));
      };
      const limits = { senders: ["shop.example", "ana@example.com"], client_ranges: ["10.0.0.0/8", "::1"] };
      expect(await list()).toMatchObject({
        [first.json.id]: { status: "expired", scopes: ["email:send"], ...limits },
        [second.id]: { status: "active", scopes: ["email:send"], ...limits },
        [third.id]: { status: "active", expires_at: null, scopes: ["email:send"], ...limits },
        [twice.id]: { senders: ["ann@acme.test", "ops@acme.example", "shop.example"] },
      });
      const alone = await run("api-key", "revoke", first.json.id);
      expect(alone.out).toMatch(
        new RegExp(
          `^${first.json.id} revoked\n${second.id} came of it and still works: .*\n${third.id} came of it` +
            `.*\n.*api-key revoke ${first.json.id} --with-children\n$`,
        ),
      );
      const aloneAgain = (await run("api-key", "revoke", first.json.id, "--json")).json;
      expect(aloneAgain).toMatchObject({ revoked: true, active_children: [second.id, third.id] });
      const revoked = await run("api-key", "revoke", first.json.id, "--with-children", "--json");
      expect(revoked.json).toEqual({ id: first.json.id, revoked: true, children: [second.id, third.id] });
      expect(await list()).toMatchObject({
        [second.id]: { status: "revoked" },
        [third.id]: { status: "revoked" },
      });
      expect(await run("api-key", "rotate", third.id)).toMatchObject({
        exitCode: 1,
        err: expect.stringContaining("is revoked or has expired"),
      });
      for (const [words, reason] of [
        [
          ["create", ...of, "--all-scopes", "--sender", "no domain"],
          "--sender: no domain is neither an address nor a domain",
        ],
        [
          ["create", ...of, "--all-scopes", "--client-range", "10.0.0.0/33"],
          "--client-range: 10.0.0.0/33 is neither an IP address",
        ],
        [["rotate", third.id, "--overlap-seconds", "-1"], "--overlap-seconds takes a whole number"],
      ] as const) {
        expect(await run("api-key", ...words)).toMatchObject({
          exitCode: 2,
          err: expect.stringContaining(reason),
        });
      }
    },
    TEST_MS_MAX,
  );

  test(
    "senders are listed with their states, and given other names",
    async () => {
      const { run, of } = await started();
      const billing = "billing@acme.example";
      await run("sender", "add", billing, ...of, "--name", "Acme billing");
      await run("sender", "verify", billing, ...of);
      await run("sender", "add", "acme.example", ...of);
      const list = async () => (await run("sender", "list", ...of, "--json")).json;
      expect(await list()).toMatchObject([
        {
          kind: "address",
          name: billing,
          display_name: "Acme billing",
          status: "verified",
          verified_by: "operator",
        },
        { kind: "domain", name: "acme.example", display_name: null, status: "unverified", verified_by: null },
      ]);
      expect((await run("sender", "list", ...of)).out).toBe(
        `verified    ${billing}  "Acme billing"\nunverified  acme.example\n`,
      );
      expect((await run("sender", "add", billing, ...of, "--name", "Accounts")).out).toContain(
        "the new name",
      );
      expect((await list())[0]).toMatchObject({ display_name: "Accounts", status: "verified" });
      expect((await run("sender", "rename", billing, ...of, "--remove-name", "--json")).json).toEqual({
        outcome: "renamed",
        display_name: null,
      });
      expect((await list())[0].display_name).toBeNull();
      // A forgotten option destroys nothing.
      const withoutName = await run("sender", "rename", billing, ...of);
      expect(withoutName).toMatchObject({
        exitCode: 2,
        err: expect.stringContaining("--name or --remove-name"),
      });
      await run("sender", "rename", "acme.example", ...of, "--name", "Acme");
      expect((await list())[1]).toMatchObject({ kind: "domain", display_name: "Acme" });
      await run("sender", "add", "other.example", ...of, "--name", "Other");
      expect((await list())[2]).toMatchObject({ name: "other.example", display_name: "Other" });
      const unknown = await run("sender", "rename", "nobody@acme.example", ...of, "--name", "X");
      expect(unknown).toMatchObject({ exitCode: 1, err: expect.stringContaining("`sender add` adds one") });
      const control = await run("sender", "rename", billing, ...of, "--name", "a\nBcc: b");
      expect(control).toMatchObject({ exitCode: 2, err: expect.stringContaining("no control characters") });
      await run("sender", "disable", billing, ...of);
      const verify = ["sender", "verify", billing, ...of];
      expect((await run(...verify)).out).toBe(
        `${billing} verified\nIt is disabled, so it cannot send yet: \`sender enable\` lets it send\n`,
      );
      expect((await run(...verify, "--json")).json).toEqual({ outcome: "verified", status: "disabled" });
    },
    TEST_MS_MAX,
  );
});

describe("where there is no data directory", () => {
  const MAKING = ["serve", "workspace create", "log import", "backup restore"];
  const UNUSED = ["audit keygen", "backup verify", "dashboard link", "sender check", "version"];
  const looking = commands.filter(({ name }) => ![...MAKING, ...UNUSED].includes(name));

  /** A call with everything that it must be given. */
  function fullCommand({ name, operands = [], options = [] }: (typeof commands)[number]): readonly string[] {
    const given = options
      .filter(({ isRequired }) => isRequired)
      .flatMap((option) => [`--${option.name}`, "x"]);
    return [...name.split(" "), ...operands.map(() => "x"), ...given];
  }

  test("only these make one", () => {
    const named = (use: string) =>
      commands.filter(({ dataDirectory }) => dataDirectory === use).map(({ name }) => name);
    expect(named("made").sort()).toEqual([...MAKING].sort());
    expect(named("unused").sort()).toEqual([...UNUSED, "doctor"].sort());
  });

  const folderOf = ({ name }: (typeof commands)[number]) => join(folder, name.replace(" ", "-"));
  beforeAll(async () => {
    for (const command of looking) await mkdir(join(folderOf(command), "made"), { recursive: true });
  });
  const absentOf = runBeforeAll(() =>
    looking.map((command) => ({ words: fullCommand(command), cwd: folderOf(command) })),
  );
  const emptyOf = runBeforeAll(() =>
    looking.map((command) => ({
      ...{ words: fullCommand(command), cwd: folderOf(command) },
      env: { DATA_DIR: "made" },
    })),
  );
  test.each(looking.map((command, index) => [command.name, command, index] as const))(
    "%s says so, what to do, and leaves no trace",
    async (_name, command, index) => {
      const cwd = folderOf(command);
      const [absent, empty] = [absentOf(index), emptyOf(index)];
      expect({ status: absent.status, out: absent.out }).toEqual({ status: 1, out: "" });
      const [what, how] = absent.err.split("\n");
      expect(what).toBe(`postledger: there is no data directory at ${join(cwd, "data")}`);
      expect(how).toMatch(/postledger serve.*DATA_DIR/);
      expect({ status: empty.status, out: empty.out }).toEqual({ status: 1, out: "" });
      expect(empty.err).toStartWith(`postledger: there is no log in ${join(cwd, "made")}\n`);
      expect(await readdir(cwd, { recursive: true })).toEqual(["made"]);
    },
  );

  test.skipIf(!canStartEventStoreDb)(
    "none of them begins a log on a server",
    async () => {
      const { url } = await startEventStoreDb();
      const dataDirOf = (command: (typeof commands)[number]) => `${folderOf(command)}-server`;
      for (const command of looking) await mkdir(dataDirOf(command));
      const settings = { STORE_URL: url, MASTER_KEY: Buffer.alloc(32).toString("base64") };
      const ends = await runCalls(
        looking.map((command) => ({
          words: fullCommand(command),
          env: { DATA_DIR: dataDirOf(command), ...settings },
        })),
      );
      for (const [index, command] of looking.entries()) {
        const { status, out } = ends[index] as CommandCallResult;
        expect([command.name, status === 0, out]).toEqual([command.name, false, ""]);
        const createdFiles = await readdir(dataDirOf(command));
        expect(createdFiles.filter((name) => !name.startsWith("lock.db"))).toEqual([]);
      }
    },
    TEST_MS_MAX,
  );

  test("workspace create makes one", async () => {
    const cwd = join(folder, "creating");
    await mkdir(cwd);
    expect(await call(["workspace", "create", "Acme"], { cwd })).toMatchObject({ status: 0, err: "" });
    const listed = await call(["workspace", "list"], { cwd });
    expect(listed).toMatchObject({ status: 0, out: expect.stringContaining("Acme") });
  });

  test("what is not found in one that is there ends with status 1, without a word on usage", async () => {
    const cwd = join(folder, "creating");
    const { status, err } = await call(["workspace", "pause", crypto.randomUUID()], { cwd });
    expect(status).toBe(1);
    expect(err).toMatch(
      /^postledger: there is no workspace [^\n]+\n[^\n]+ workspace list` lists them[^\n]+\n$/,
    );
  });

  test("a command that does not say that it writes cannot write", async () => {
    const cwd = join(folder, "reading");
    await mkdir(cwd);
    await call(["workspace", "create", "Acme"], { cwd });
    const config = readConfig({ HOST: "127.0.0.1", DATA_DIR: join(cwd, "data") });
    const create = ({ deps }: OpenForCommand) => newWorkspace(deps, "Globex", systemCommandContext("cli"));
    await expect(withLog(config, create)).rejects.toThrow("a command that only reads must not write");
  });

  test("one of many workspaces is known by its name", async () => {
    const cwd = join(folder, "many");
    await mkdir(cwd);
    await call(["workspace", "create", "Acme"], { cwd });
    const config = readConfig({ HOST: "127.0.0.1", DATA_DIR: join(cwd, "data") });
    const createAll = async ({ deps }: OpenForCommand) => {
      for (let count = 0; count < MANY; count += 1)
        await newWorkspace(deps, `Shop ${count}`, systemCommandContext("cli"));
      return newWorkspace(deps, "Globex", systemCommandContext("cli"));
    };
    const last = await withLog(config, createAll, { writes: true });
    const { out } = await call(["workspace", "pause", "Globex"], { cwd });
    expect(out).toContain(last);
  });

  test("what is renamed is known by the name that it has now, and not by the one from before", async () => {
    const cwd = join(folder, "renaming");
    await mkdir(cwd);
    await call(["workspace", "create", "Acme"], { cwd });
    const [workspace] = JSON.parse((await call(["workspace", "list", "--json"], { cwd })).out);
    expect(await call(["workspace", "rename", workspace.id, "Globex"], { cwd })).toMatchObject({ status: 0 });
    expect((await call(["workspace", "pause", "Globex"], { cwd })).out).toContain(workspace.id);
    expect((await call(["workspace", "pause", "Acme"], { cwd })).err).toContain("there is no workspace Acme");
  });
});
