import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdir, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import PostalMime from "postal-mime";
import { version } from "../../package.json";
import { askRunningService } from "../../src/cli/service/askRunningService.ts";
import { apiKeyId } from "../../src/kernel/crypto/apiKeyFormat.ts";
import type { Check } from "../../src/service/status/checks/check.ts";
import { mailFaults } from "../support/mail/strictMail.ts";
import { COMMAND_LINE } from "../support/process/program.ts";
import { runCalls } from "../support/process/runCalls.ts";
import { runProcess } from "../support/process/runProcess.ts";
import { startOnTerminal } from "../support/process/terminal.ts";
import { startTestApp, startTestProcess, type TestProcess } from "../support/service.ts";
import { testStores } from "../support/stores/stores.ts";
import { message, newKey } from "../support/tenants.ts";
import { until } from "../support/until.ts";

const START_MS = 120_000;
const ASK_MS_MAX = 20_000;
const FIRST = message({ from: "hello@example.com" });

async function temporaryDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), "postledger-test-"));
}

/** Runs the program and waits for its end. */
async function run(command: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { exitCode: status, out, err } = await runProcess(command, { env: { ...process.env, ...env } });
  return { status, out, err };
}

const serve = [...COMMAND_LINE, "serve"];

/** Why the service does not start with these settings. */
async function refusal(dataDir: string, env: Readonly<Record<string, string>>): Promise<string> {
  try {
    const app = await startTestApp({ dataDir, env });
    await app.remove();
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

describe("a first run", () => {
  let parent: string;
  let dataDir: string;
  let service: TestProcess;
  let greeting: string;
  let pasted: { status: number; out: string; err: string };
  let id: string;

  beforeAll(async () => {
    parent = await temporaryDirectory();
    // A name that a shell would take apart, were it not quoted.
    dataDir = join(parent, "it's my $HOME data");
    await mkdir(dataDir);
    const env = { HOST: "127.0.0.1", PORT: "0", DATA_DIR: dataDir, DISK_FREE_BYTES_MIN: "0" };
    const terminal = startOnTerminal(serve, { env });
    const command = () => /^curl [\s\S]*?\n\n/m.exec(terminal.screen())?.[0];
    await until(() => command() !== undefined, "the greeting");
    pasted = await run(["sh", "-c", `cd / && ${command()}`]);
    terminal.type("\u0003");
    await terminal.exited;
    greeting = terminal.screen();
    id = /"id":"([0-9a-f-]{36})"/.exec(pasted.out)?.[1] ?? "";
    service = await startTestProcess({ dataDir, env: { LOG_LEVEL: "trace", LOG_REQUESTS: "all" } });
  }, START_MS);
  afterAll(async () => {
    await service.kill("SIGKILL");
    await rm(parent, { recursive: true });
  });

  test("greets the user at the terminal with all that they need next", () => {
    const { origin } = new URL(/listens on (\S+)/.exec(greeting)?.[1] ?? "");
    expect(greeting).toContain(`Postledger ${version} listens on ${origin}`);
    expect(greeting).toContain(`${origin}/docs`);
    expect(greeting).toContain(join(dataDir, "bootstrap.key"));
    expect(greeting).toContain(join(dataDir, "outbox", "*.eml"));
    expect(greeting).toContain("Ctrl-C");
  });

  test("writes nothing but lines of JSON where nobody sits", () => {
    expect(service.out()).toBe("");
    for (const line of service.log().trim().split("\n")) expect(JSON.parse(line)).toHaveProperty("msg");
  });

  test("prints a curl that sends a first email as pasted, from any folder", () => {
    expect({ status: pasted.status, answer: pasted.out.split("\r\n", 1)[0] }).toEqual({
      status: 0,
      answer: "HTTP/1.1 202 Accepted",
    });
  });

  test("puts the mail into the outbox", async () => {
    const outbox = join(dataDir, "outbox");
    const files = async () => (await readdir(outbox).catch(() => [])).filter((name) => name.endsWith(".eml"));
    await until(async () => (await files()).length > 0, "the mail in the outbox");
    expect(await files()).toEqual([`${id}.eml`]);
    const bytes = await readFile(join(outbox, `${id}.eml`));
    expect(mailFaults(bytes)).toEqual([]);
    expect(bytes.toString()).toContain("\r\nFrom: hello@example.com\r\n");
    const mail = await PostalMime.parse(bytes);
    expect(mail).toMatchObject({ subject: "Hello", from: { address: "hello@example.com" } });
    expect(mail.to).toMatchObject([{ address: "you@example.com" }]);
    expect(mail.text?.trim()).toBe("It works.");
  });

  test("says sent, and through what", async () => {
    const get = () => service.call("GET", `/api/v1/emails/${id}`);
    await until(async () => (await get()).json.status === "sent", "the mail to be sent");
    expect((await get()).json.timeline.at(-1)).toMatchObject({ type: "sent", transport: "outbox" });
  });

  test("writes the key where its owner alone can read it", async () => {
    const path = join(dataDir, "bootstrap.key");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await readFile(path, "utf8")).trim()).toMatch(/^pl_[0-9A-Za-z]{50}$/);
    expect((await stat(join(dataDir, "master.key"))).mode & 0o777).toBe(0o600);
  });

  test("says where the key is, and not what it is", () => {
    expect(greeting).not.toContain(service.apiKey);
    expect(service.log()).toContain(join(dataDir, "bootstrap.key"));
    expect(service.log()).not.toContain(service.apiKey);
  });

  test("logs every request, and no address, key, subject or content of any", async () => {
    const secret = "Sensitive";
    const person = "private.person@example.org";
    const body = { ...FIRST, to: person, subject: secret, text: secret };
    const key = `${secret}-key`;
    expect((await service.send(key, body)).status).toBe(202);
    await service.send(key, { ...body, text: `${secret}!` });
    await service.send("short", body);
    await service.send(newKey(), { ...body, to: `${person}\n`, [secret]: secret });
    await service.send(newKey(), `{"subject":"${secret}`);
    await service.call("GET", `/api/v1/emails?to=${encodeURIComponent(person)}&idempotency_key=${key}`);
    await service.call("GET", `/api/v1/emails?from=${secret}`);
    const wrong = `${service.apiKey.slice(0, -1)}_`;
    await service.call("GET", "/api/v1/emails", { headers: { authorization: `Bearer ${wrong}` } });
    const last = await service.call("GET", "/nothing");
    await until(() => service.log().includes(last.json.request_id), "the last request in the log");
    for (const line of service.log().trim().split("\n")) {
      expect(line).toStartWith("{");
      for (const word of [
        secret,
        "private.person",
        "example.org",
        "hello@",
        "you@",
        "Hello",
        service.apiKey,
        wrong,
      ])
        expect(line).not.toContain(word);
    }
    expect(service.log()).toContain(`"path":"/api/v1/emails"`);
  });

  test("has its DATA_DIR to itself: a second service refuses and names it", async () => {
    const second = await run(serve, { DATA_DIR: dataDir, PORT: "0" });
    expect(second.status).toBe(2);
    expect(second.err).toStartWith("postledger: DATA_DIR ");
    expect(second.err.trim().split("\n")).toHaveLength(1);
    expect((await service.call("GET", "/health/live")).status).toBe(200);
  });

  test("leaves its port to itself: another service says so in a line", async () => {
    const other = await temporaryDirectory();
    try {
      const second = await run(serve, { DATA_DIR: other, PORT: new URL(service.url).port });
      expect(second.status).toBe(2);
      expect(second.err).toMatch(/^postledger: .*port/i);
    } finally {
      await rm(other, { recursive: true });
    }
  });

  test(
    "ends with status 0 on SIGTERM, and the next one goes on where it ended",
    async () => {
      const before = service.apiKey;
      expect(await service.kill("SIGTERM")).toBe(0);
      expect(service.log()).toContain("stopped");
      service = await startTestProcess({ dataDir });
      expect(service.apiKey).toBe(before);
      expect((await service.call("GET", `/api/v1/emails/${id}`)).json.status).toBe("sent");
    },
    START_MS,
  );
});

describe("a first run inside another program", () => {
  test("keeps its keys from others, whatever the program's umask lets through", async () => {
    const before = process.umask(0o022);
    const app = await startTestApp();
    try {
      for (const name of ["bootstrap.key", "master.key"])
        expect((await stat(join(app.dataDir, name))).mode & 0o777).toBe(0o600);
    } finally {
      process.umask(before);
      await app.remove();
    }
  });
});

describe("a first run that is asked not to", () => {
  test("makes no key", async () => {
    const app = await startTestApp({ env: { BOOTSTRAP: "off" } });
    try {
      expect(app.apiKey).toBe("");
      expect((await readdir(app.dataDir)).includes("bootstrap.key")).toBeFalse();
    } finally {
      await app.remove();
    }
  });
});

describe("the master key", () => {
  const newMasterKey = () => crypto.getRandomValues(new Uint8Array(32)).toBase64();

  test(
    "of another log is refused, with the remedy",
    async () => {
      const dataDir = await temporaryDirectory();
      try {
        await (await startTestApp({ dataDir })).app.stop();
        const refusalMessage = await refusal(dataDir, { MASTER_KEY: newMasterKey() });
        expect(refusalMessage).toContain("MASTER_KEY");
        expect(refusalMessage).toContain("MASTER_KEY_PREVIOUS");
        const command = await run(serve, { DATA_DIR: dataDir, PORT: "0", MASTER_KEY: newMasterKey() });
        expect(command.status).toBe(2);
        expect(command.err).toStartWith("postledger: MASTER_KEY ");
      } finally {
        await rm(dataDir, { recursive: true });
      }
    },
    START_MS,
  );

  test("can be rotated: API keys, messages and Idempotency-Keys stay", async () => {
    const dataDir = await temporaryDirectory();
    const [first, second] = [newMasterKey(), newMasterKey()];
    const key = newKey();
    const stages = [
      { MASTER_KEY: first },
      { MASTER_KEY: second, MASTER_KEY_PREVIOUS: first },
      { MASTER_KEY: second },
      // Who forgets to take the previous one away does no harm.
      { MASTER_KEY: second, MASTER_KEY_PREVIOUS: first },
    ];
    try {
      const answers: string[] = [];
      for (const env of stages) {
        const app = await startTestApp({ dataDir, env: { ...env, DELIVERY: "off" } });
        const answer = await app.send(key, FIRST);
        expect(answer.status).toBe(202);
        answers.push(answer.text);
        expect((await app.call("GET", `/api/v1/emails/${answer.json.id}`)).json.to).toBe("ana@example.com");
        await app.remove();
      }
      expect(new Set(answers).size).toBe(1);
      expect(await refusal(dataDir, { MASTER_KEY: first })).toContain(
        "MASTER_KEY is not the log's present key",
      );
    } finally {
      await rm(dataDir, { recursive: true });
    }
  });

  test("that is made at a first run stays in its file", async () => {
    const dataDir = await temporaryDirectory();
    try {
      await (await startTestApp({ dataDir })).app.stop();
      const generated = await readFile(join(dataDir, "master.key"), "utf8");
      const app = await startTestApp({ dataDir });
      expect((await app.call("GET", "/api/v1/emails")).status).toBe(200);
      await app.app.stop();
      expect(await readFile(join(dataDir, "master.key"), "utf8")).toBe(generated);
      expect(Uint8Array.fromBase64(generated.trim())).toHaveLength(32);
    } finally {
      await rm(dataDir, { recursive: true });
    }
  });
});

test("a log is begun by a command, and by no service that may not begin it", async () => {
  const dataDir = await temporaryDirectory();
  const careful = { BOOTSTRAP: "off", DELIVERY: "off", STORE_CREATE_IF_MISSING: "off" };
  try {
    expect(await refusal(dataDir, careful)).toMatch(/^there is no log in .* restore a backup/);
    expect(await readdir(dataDir)).toEqual([]);
    const call = (...words: readonly string[]) => ({ words, env: { ...careful, DATA_DIR: dataDir } });
    const [listed, created] = await runCalls([
      call("workspace", "list"),
      call("workspace", "create", "Acme"),
    ]);
    expect(listed).toMatchObject({ status: 1, err: expect.stringContaining("restore a backup") });
    expect(created).toMatchObject({ status: 0, err: "" });
    expect(await refusal(dataDir, careful)).toBe("");
  } finally {
    await rm(dataDir, { recursive: true });
  }
});

describe.each(await testStores())("a log on $name", (store) => {
  const env = { ...store.env, BOOTSTRAP: "off", DELIVERY: "off" };
  let dataDir: string;
  beforeAll(async () => {
    dataDir = await temporaryDirectory();
  });
  afterAll(() => rm(dataDir, { recursive: true }));

  test("is refused with a master key or a content store that is not its own", async () => {
    const otherContent = await temporaryDirectory();
    try {
      expect(await refusal(dataDir, env)).toBe("");
      const otherKey = Buffer.alloc(32, "another").toString("base64");
      expect(await refusal(dataDir, { ...env, MASTER_KEY: otherKey })).toContain("MASTER_KEY_PREVIOUS");
      expect(await refusal(dataDir, { ...env, CONTENT_URL: `file:${otherContent}` })).toContain(
        "CONTENT_URL",
      );
      expect(await refusal(dataDir, env)).toBe("");
    } finally {
      await rm(otherContent, { recursive: true });
    }
  });
});

test(
  "a first key that is revoked is no longer called one that works: its file is to be deleted",
  async () => {
    const service = await startTestApp();
    try {
      const firstKey = async () => {
        const asked = await askRunningService(service.dataDir, "/status", ASK_MS_MAX);
        const checks = (asked as { readonly body: readonly Check[] }).body;
        return checks.find(({ name }) => name === "first key");
      };
      expect((await firstKey())?.action).toContain("api-key revoke");
      const revoked = await service.call("POST", `/api/v1/api-keys/${apiKeyId(service.apiKey)}/revoke`);
      expect(revoked.status).toBe(200);
      expect(await firstKey()).toMatchObject({
        status: "warning",
        detail: expect.stringMatching(/bootstrap\.key holds a key that is revoked/),
        action: "delete the file",
      });
    } finally {
      await service.remove();
    }
  },
  START_MS,
);
