import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { chmod, mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { startupWarnings } from "../../src/cli/service/startupWarnings.ts";
import { readConfig } from "../../src/service/config/config.ts";
import { directoryError } from "../../src/service/faults/startupErrors.ts";
import type { CommandCallResult } from "../support/process/commandProcess.ts";
import { COMMAND_LINE } from "../support/process/program.ts";
import { runCalls, runCallsApart } from "../support/process/runCalls.ts";
import { runCommand, runProgram } from "../support/process/runCommand.ts";
import { startOnTerminal } from "../support/process/terminal.ts";
import { ROOT } from "../support/root.ts";
import { startTestApp, startTestProcess } from "../support/service.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";
import { until } from "../support/until.ts";

const START_MS = 60_000;
const MASTER_KEY = Buffer.alloc(32, 7).toString("base64");

/** A fault of the settings, and what has to be said of it: the variable, the fault, and what to do. */
interface Case {
  readonly env: Readonly<Record<string, string>>;
  readonly patterns: readonly RegExp[];
  /** 2, unless the missing part may come back with the same settings. */
  readonly status?: number;
}

/** Files of the data directory that a start reads or writes, each of which may turn out to be something else. */
const OWN_FILES = [
  "events.db",
  "events.db-wal",
  "lock.db",
  "master.key",
  "bootstrap.key",
  "service.id",
  "service.json",
  "erased-content.json",
  "content/identity",
  "content/log",
  "projections/catalog.db",
];
const KINDS = ["directory", "named pipe"] as const;

/** A data directory in which `name` is of that kind. */
async function makeDataDirectory(parent: string, name: string, kind: (typeof KINDS)[number]): Promise<void> {
  const path = join(parent, kind, name.replace("/", "-"), name);
  await mkdir(kind === "directory" ? path : dirname(path), { recursive: true });
  if (kind === "named pipe") expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0);
}

/** Looks for the log as somebody whom the rights of a directory bind, and prints the error. */
const LOOK_AS_ORDINARY_USER = `
  const { requireDataDirectory } = await import(${JSON.stringify(join(ROOT, "src/cli/program/dataDirectory.ts"))});
  if (process.getuid() === 0) process.setuid(65534);
  const dataDir = process.argv[1];
  try { requireDataDirectory({ dataDir, storeUrl: "file:" + dataDir }); } catch ({ message }) { console.log(message); }
`;

/** Takes the lock as somebody whom the rights of a directory bind, and prints the error. */
const LOCK_AS_ORDINARY_USER = `
  const { lockDirectory } = await import(${JSON.stringify(join(ROOT, "src/adapters/sqlite/directoryLock.ts"))});
  if (process.getuid() === 0) process.setuid(65534);
  try { lockDirectory(process.argv[1]); } catch ({ code, message }) { console.log(JSON.stringify({ code, message })); }
`;

describe("a service that cannot start", () => {
  const directory = temporaryFolder();

  beforeAll(async () => {
    await writeFile(join(directory, "file"), "");
    for (const kind of KINDS) for (const name of OWN_FILES) await makeDataDirectory(directory, name, kind);
  });

  const cases: Readonly<Record<string, () => Case>> = {
    "DATA_DIR that cannot be made": () => ({
      env: { DATA_DIR: "/proc/nowhere" },
      patterns: [/DATA_DIR \/proc\/nowhere /, /Set DATA_DIR to a directory/],
    }),
    "DATA_DIR that is a file": () => ({
      env: { DATA_DIR: join(directory, "file") },
      patterns: [/DATA_DIR \S+\/file /, /a file of that name/],
    }),
    ...Object.fromEntries(
      KINDS.flatMap((kind) =>
        OWN_FILES.map((name) => [
          `DATA_DIR whose ${name} is a ${kind}`,
          (): Case => ({
            env: { DATA_DIR: join(directory, kind, name.replace("/", "-")) },
            patterns: [new RegExp(`/${name} cannot be used: there is a ${kind} of that name`)],
          }),
        ]),
      ),
    ),
    "HOST of another machine": () => ({
      env: { HOST: "192.0.2.1", SMTP_URL: "outbox:" },
      patterns: [/HOST 192\.0\.2\.1 is not an address of this machine/],
    }),
    "HOST that is no name": () => ({
      env: { HOST: "host.invalid", SMTP_URL: "outbox:" },
      patterns: [/HOST host\.invalid is not an address of this machine/],
    }),
    "SMTP_URL that is not set, though a proxy brings in others": () => ({
      env: { BASE_URL: "https://mail.example.com" },
      patterns: [
        /^postledger: SMTP_URL is not set\. .* BASE_URL is https:\/\/mail\.example\.com\. Set it to your relay, or/m,
      ],
    }),
    "SMTP_URL with tls=off": () => ({
      env: { SMTP_URL: "smtp://u:s3cret@relay.example?tls=off" },
      patterns: [/SMTP_URL /, /"off"/, /tls=required, tls=none/],
    }),
    "SMTP_URL with another parameter": () => ({
      env: { SMTP_URL: "smtp://u:s3cret@relay.example?pool=true" },
      patterns: [/SMTP_URL /, /"pool"/, /tls=required, tls=none/],
    }),
    "SMTP_URL with a question mark in the password": () => ({
      env: { SMTP_URL: "smtp://relay.example:25?s3cret@host" },
      patterns: [/SMTP_URL /],
    }),
    "SMTP_URL with a sign in the password that a URL does not take": () => ({
      env: { SMTP_URL: "smtp://user:s3cret#1@relay.example:587" },
      patterns: [/SMTP_URL /, /%23 for #/],
    }),
    "SMTP_URL of another protocol": () => ({
      env: { SMTP_URL: "https://relay.example" },
      patterns: [/SMTP_URL must begin with smtp:\/\//],
    }),
    "STORE_URL of another store": () => ({
      env: { STORE_URL: "postgres://u:s3cret@db.example/mail" },
      patterns: [/STORE_URL must begin with file: or esdb:\/\//],
    }),
    "STORE_URL that cannot be made": () => ({
      env: { STORE_URL: "file:/proc/nowhere" },
      patterns: [/STORE_URL file:\/proc\/nowhere /, /Set STORE_URL to/],
    }),
    "STORE_URL that names no directory": () => ({
      env: { STORE_URL: "file:" },
      patterns: [/STORE_URL must name a directory after file:/],
    }),
    "CONTENT_URL that names no directory": () => ({
      env: { CONTENT_URL: "file:" },
      patterns: [/CONTENT_URL must name a directory after file:/],
    }),
    "STORE_URL without a host": () => ({
      env: { STORE_URL: "esdb://", MASTER_KEY },
      patterns: [/STORE_URL must be a connection string/, /esdb:\/\/host:2113\?tls=false/],
    }),
    "STORE_URL with a value that is none": () => ({
      env: { STORE_URL: "esdb://u:s3cret@127.0.0.1:2113?tls=off", MASTER_KEY },
      patterns: [/STORE_URL must be a connection string/],
    }),
    "STORE_URL with an unknown parameter": () => ({
      env: { STORE_URL: "esdb://u:s3cret@127.0.0.1:2113?tlz=false", MASTER_KEY },
      patterns: [/STORE_URL must not have the parameter "tlz": .*tls/],
    }),
    "STORE_URL with a parameter that the client would show with all the rest": () => ({
      env: { STORE_URL: "esdb://u:s3cret@127.0.0.1:1?tls=true&tlsVerifyCert=false", MASTER_KEY },
      patterns: [/STORE_URL must not have the parameter "tlsVerifyCert": .*tlsCAFile/],
    }),
    "STORE_URL where nothing listens": () => ({
      status: 1,
      env: { STORE_URL: "esdb://u:s3cret@127.0.0.1:1?tls=false", MASTER_KEY, STORE_TIMEOUT_MS: "2000" },
      patterns: [
        /STORE_URL: EventStoreDB at 127\.0\.0\.1:1 /,
        /ECONNREFUSED|no answer/,
        /Start it, or set STORE_URL/,
      ],
    }),
    "CONTENT_URL that cannot be made": () => ({
      env: { CONTENT_URL: "file:/proc/nowhere" },
      patterns: [/CONTENT_URL file:\/proc\/nowhere /, /Set CONTENT_URL to a directory/],
    }),
    "CONTENT_URL on a server that is down": () => ({
      status: 1,
      env: {
        CONTENT_URL: "s3://bucket",
        S3_ENDPOINT: "http://127.0.0.1:1",
        S3_ACCESS_KEY_ID: "id",
        S3_SECRET_ACCESS_KEY: "s3cret",
        CONTENT_TIMEOUT_MS: "500",
      },
      patterns: [/CONTENT_URL s3:\/\/bucket /, /S3_ENDPOINT/],
    }),
    "PORT that is no number": () => ({ env: { PORT: "http" }, patterns: [/PORT must be a whole number/] }),
  };

  let ends: readonly CommandCallResult[];
  beforeAll(async () => {
    const settings = { HOST: "127.0.0.1", PORT: "0", DATA_DIR: join(directory, "data"), LOG_LEVEL: "silent" };
    const calls = Object.values(cases).map((of) => ({ words: ["serve"], env: { ...settings, ...of().env } }));
    ends = await runCallsApart(calls);
  }, START_MS);
  test.each(Object.entries(cases).map(([name, of], index) => [name, of, index] as const))(
    "for its %s says so, and what to do, in a line",
    (_name, of, index) => {
      const { patterns, status: expected = 2 } = of();
      const { status, out, err } = ends[index] as CommandCallResult;
      expect({ status, out }).toEqual({ status: expected, out: "" });
      expect(err.trim().split("\n")).toHaveLength(1);
      for (const pattern of patterns) expect(err).toMatch(pattern);
      expect(err).not.toContain("s3cret");
    },
  );

  test(
    "for its settings ends as a process, too",
    async () => {
      const { exitCode, out, err } = await runProgram(["serve"], join(directory, "data"), { PORT: "http" });
      expect({ exitCode, out }).toEqual({ exitCode: 2, out: "" });
      expect(err).toMatch(/^postledger: PORT must be a whole number[^\n]*\n$/);
    },
    START_MS,
  );

  test.each([[["doctor"]], [["dashboard", "link"]], [["api-key", "list"]]])(
    "%p says of a named pipe what a start says",
    async (words) => {
      const call = (name: string) => {
        const env = { DATA_DIR: join(directory, "named pipe", name), HOST: "127.0.0.1" };
        return { words, env };
      };
      const names = ["master.key", "service.json"];
      for (const [index, end] of (await runCalls(names.map(call))).entries()) {
        expect(end.err).toContain(`${names[index]} cannot be used: there is a named pipe of that name`);
        expect(end.status).toBe(2);
      }
    },
    START_MS,
  );

  test("for a DATA_DIR that this user may not write to says so", async () => {
    const closed = join(directory, "closed");
    await mkdir(closed, { mode: 0o555 });
    await chmod(directory, 0o755);
    const child = Bun.spawn([process.execPath, "-e", LOCK_AS_ORDINARY_USER, closed], { stdout: "pipe" });
    const error = JSON.parse(await new Response(child.stdout).text());
    expect(
      directoryError({ variable: "DATA_DIR", value: closed, files: ["lock.db"] }, error).message,
    ).toContain(`DATA_DIR ${closed} cannot be used: this user may not read or write there (EACCES)`);
  });

  test("and a command for a DATA_DIR that this user may not look into says so, not that there is no log", async () => {
    await mkdir(join(directory, "private"), { mode: 0 });
    await chmod(directory, 0o755);
    const look = [process.execPath, "-e", LOOK_AS_ORDINARY_USER, "private"];
    // The path is relative, because the directories above may be closed too.
    const child = Bun.spawn(look, { cwd: directory, stdout: "pipe" });
    const found = await new Response(child.stdout).text();
    // Otherwise an ordinary user could not remove it.
    await chmod(join(directory, "private"), 0o700);
    expect(found).toBe(
      `private cannot be used: this user may not read or write there (EACCES). Run this as the service's user\n`,
    );
  });

  test(
    "because its log's content directory is lost makes none, and says how to bring it back or to go on without it",
    async () => {
      const dataDir = join(directory, "without-content");
      const content = join(dataDir, "content");
      expect((await runCommand(["workspace", "create", "Acme"], dataDir)).exitCode).toBe(0);
      await rm(content, { recursive: true });
      const { exitCode, err } = await runProgram(["serve"], dataDir, { PORT: "0", HOST: "127.0.0.1" });
      expect(exitCode).toBe(2);
      expect(err).toContain(`${content} is missing or empty`);
      expect(err).toContain("copy `content` of the newest backup there");
      expect(existsSync(content)).toBe(false);
      const { out } = await runCommand(["doctor"], dataDir);
      expect(out).toMatch(/^failed {3}content \(directory\): .*is missing or empty/m);
      expect(out).not.toContain("MASTER_KEY");
      expect(existsSync(content)).toBe(false);
      const [, identity = ""] = /identity is (\S+)/.exec(err) ?? [];
      await mkdir(content);
      await writeFile(join(content, "identity"), `${identity}\n`);
      expect((await runCommand(["workspace", "list"], dataDir)).exitCode).toBe(0);
    },
    START_MS,
  );

  test(
    "because its PORT is taken has made nothing",
    async () => {
      const otherApp = await startTestApp();
      try {
        const dataDir = join(directory, "never-made");
        const { exitCode } = await runProgram(["serve"], dataDir, { PORT: new URL(otherApp.url).port });
        expect(exitCode).toBe(2);
        expect(existsSync(dataDir)).toBe(false);
      } finally {
        await otherApp.remove();
      }
    },
    START_MS,
  );

  test(
    "a second time on the same DATA_DIR and PORT is first told that one runs there already",
    async () => {
      const app = await startTestApp();
      try {
        const { exitCode, err } = await runProgram(["serve"], app.dataDir, { PORT: new URL(app.url).port });
        expect(exitCode).toBe(2);
        expect(err).toMatch(/^postledger: DATA_DIR \S+ is in use by another running service/);
        expect(err).toMatch(/^postledger: PORT \d+ on 127\.0\.0\.1 is in use by another program/m);
      } finally {
        await app.remove();
      }
    },
    START_MS,
  );

  test(
    "because its PORT is taken has not begun to deliver",
    async () => {
      const otherApp = await startTestApp();
      const dataDir = join(directory, "waiting");
      try {
        const before = await startTestApp({ dataDir, env: { DELIVERY: "off" } });
        const { json } = await before.send("waits-here", {
          from: "hello@example.com",
          to: "ana@example.com",
          subject: "Hello",
          text: "Hello",
        });
        await before.app.stop();
        const { exitCode, err } = await runProgram(["serve"], dataDir, { PORT: new URL(otherApp.url).port });
        expect(exitCode).toBe(2);
        expect(err).toMatch(/^postledger: PORT \d+ on 127\.0\.0\.1 is in use by another program: .*set PORT/);
        const after = await startTestApp({ dataDir, env: { DELIVERY: "off" } });
        expect((await after.call("GET", `/api/v1/emails/${json.id}`)).json.status).toBe("queued");
        await after.app.stop();
      } finally {
        await otherApp.remove();
      }
    },
    START_MS,
  );
});

describe("a service that starts warns", () => {
  const nothing = {
    bootstrapKey: null,
    isWithoutWorkspace: false,
    held: null,
    isGreeted: false,
    descriptorLimit: null,
  };
  const warnings = (env: Readonly<Record<string, string>>) =>
    startupWarnings(readConfig({ SMTP_URL: "smtp://relay.example.com", ...env }), nothing);

  test("once, when anybody can listen in to its callers", () => {
    expect(warnings({ HOST: "0.0.0.0" })).toEqual([expect.stringMatching(/^HOST 0\.0\.0\.0 .*TLS/)]);
    expect(warnings({ HOST: "192.0.2.1", BASE_URL: "http://mail.example.com" })).toHaveLength(1);
  });

  test("of nothing on loopback, behind TLS, behind a proxy, and in a container whose port is this machine's", () => {
    expect(warnings({})).toEqual([]);
    expect(warnings({ HOST: "0.0.0.0", BASE_URL: "https://mail.example.com" })).toEqual([]);
    expect(warnings({ HOST: "0.0.0.0", TRUSTED_PROXIES: "10.0.0.0/8" })).toEqual([]);
    expect(warnings({ HOST: "0.0.0.0", BASE_URL: "http://127.0.0.1:3000" })).toEqual([]);
  });

  test("of mail that goes into files because nobody has said where else, unless the greeting has said so", () => {
    const unset = readConfig({ DATA_DIR: "/data" });
    expect(startupWarnings(unset, nothing)).toEqual([
      "SMTP_URL is not set: mail is written to /data/outbox and goes nowhere else",
    ]);
    expect(startupWarnings(unset, { ...nothing, isGreeted: true })).toEqual([]);
    expect(warnings({})).toEqual([]);
  });

  test("of mail that goes into files as asked, only if others send it", () => {
    expect(warnings({ SMTP_URL: "outbox:" })).toEqual([]);
    expect(warnings({ SMTP_URL: "outbox:/mail", BASE_URL: "https://mail.example.com" })).toEqual([
      expect.stringMatching(
        /^the service is not for this machine only, but its mail is written to \/mail .*SMTP_URL/,
      ),
    ]);
  });

  test("of variables that are hardly another name than a setting, and of nobody else's", () => {
    expect(warnings({ SMPT_URL: "smtp://relay.example.com", HOME: "/root", LOG_LEVLE: "info" })).toEqual([
      "SMPT_URL is not a setting and has no effect: did you mean SMTP_URL?",
      "LOG_LEVLE is not a setting and has no effect: did you mean LOG_LEVEL?",
    ]);
  });

  test("of variables that other programs would read, and of ours with our name before them", () => {
    const env = {
      SMTP_URL: "smtp://relay.example.com",
      SMTP_HOST: "relay.example.com",
      POSTLEDGER_PORT: "80",
      POSTLEDGER_API_KEY: "pl_",
    };
    expect(warnings(env)).toEqual([
      "SMTP_HOST is not a setting and has no effect: did you mean SMTP_URL?",
      "POSTLEDGER_PORT is not a setting and has no effect: did you mean PORT?",
    ]);
  });

  test("of links in mail that nobody could open", () => {
    const open = { HOST: "0.0.0.0", TRUSTED_PROXIES: "10.0.0.0/8", VERIFICATION_FROM: "hello@example.com" };
    expect(warnings(open)).toEqual([
      expect.stringMatching(/links.* http:\/\/0\.0\.0\.0:3000, .*set BASE_URL/),
    ]);
    expect(warnings({ ...open, HOST: "::" })).toHaveLength(1);
    expect(warnings({ ...open, BASE_URL: "https://mail.example.com" })).toEqual([]);
  });

  test("of a key from before a rotation, which is not needed from the first start on", () => {
    const key = Buffer.alloc(32, 7).toString("base64");
    expect(
      warnings({ MASTER_KEY: Buffer.alloc(32, 8).toString("base64"), MASTER_KEY_PREVIOUS: key }),
    ).toEqual([
      expect.stringMatching(/^the log opens with MASTER_KEY alone: MASTER_KEY_PREVIOUS is now needed only/),
    ]);
  });

  test("of mail that is held since the log was restored", () => {
    const held = "unfinished work is held";
    expect(startupWarnings(readConfig({ SMTP_URL: "outbox:" }), { ...nothing, held })).toEqual([held]);
  });

  test("of a low limit of file descriptors", () => {
    const settings = readConfig({ SMTP_URL: "outbox:" });
    expect(startupWarnings(settings, { ...nothing, descriptorLimit: 4_096 })).toEqual([]);
    expect(startupWarnings(settings, { ...nothing, descriptorLimit: 1_024 })).toEqual([
      expect.stringMatching(/^1024 files and connections .*To do: .*LimitNOFILE=65536/),
    ]);
  });

  test("of the key of a first run for as long as it is there, unless the greeting has said so", () => {
    const settings = readConfig({ DATA_DIR: "/data", SMTP_URL: "outbox:" });
    const started = { ...nothing, bootstrapKey: { id: "qc7xuBpxhDvW", workspaceId: null, isRevoked: false } };
    expect(startupWarnings(settings, started)).toEqual([
      expect.stringMatching(
        /^\/data\/bootstrap\.key .*api-key create --scopes \S+.* api-key revoke qc7xuBpxhDvW/,
      ),
    ]);
    expect(startupWarnings(settings, { ...started, isGreeted: true })).toEqual([]);
  });

  test(
    "when there is no workspace, and shows on a terminal how to make one",
    async () => {
      const dataDir = temporaryFolder();
      const service = await startTestProcess({ dataDir, env: { BOOTSTRAP: "off" } });
      await until(() => service.log().includes("workspace create"), "the warning");
      await service.kill("SIGTERM");
      const env = { HOST: "127.0.0.1", PORT: "0", DATA_DIR: dataDir, BOOTSTRAP: "off" };
      const terminal = startOnTerminal([...COMMAND_LINE, "serve"], { env });
      await until(() => terminal.screen().includes("api-key create"), "the greeting");
      for (const step of ["workspace create", "sender add", "sender verify", "api-key create"])
        expect(terminal.screen()).toContain(`bun run postledger ${step}`);
      terminal.type("\u0003");
      expect(await terminal.exited).toBe(0);
      const created = await runCommand(["workspace", "create", "Acme", "--json"], dataDir);
      expect(created.exitCode).toBe(0);
      const next = await startTestProcess({ dataDir, env: { BOOTSTRAP: "off" } });
      await next.kill("SIGTERM");
      expect(next.log()).not.toContain("workspace create");
    },
    START_MS,
  );
});
