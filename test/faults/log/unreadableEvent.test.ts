import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { emailStream } from "../../../src/domain/email/events.ts";
import { type CommandResult, runCommand } from "../../support/process/runCommand.ts";
import { startTestApp, type TestApp } from "../../support/service.ts";
import { message, newKey, openLog } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const TEST_MS_MAX = 120_000;
const SECRET = "ana@secret.example.org";

interface Finding {
  readonly name: string;
  readonly status: string;
  readonly detail: string;
  readonly action: string | null;
}

let app: TestApp;
let dataDir: string;
let id: string;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "postledger-unreadable-"));
  app = await startTestApp({ dataDir, env: { DELIVERY: "off" } });
  id = (await app.send(newKey(), message({ from: "hello@example.com" }))).json.id;
  const log = await openLog({ DATA_DIR: dataDir });
  const [, queued] = await log.store.read(emailStream(id), 0, 2);
  const metadata = { ...queued?.metadata, schema: 9 };
  const event = { id: crypto.randomUUID(), type: "EmailSent", data: { to: SECRET }, metadata };
  await log.store.append(emailStream(id), [event], 1);
  await log.store.close();
}, TEST_MS_MAX);

afterAll(() => rm(dataDir, { recursive: true, force: true }));

function doctor(): Promise<CommandResult> {
  return runCommand(["doctor", "--json"], dataDir);
}

function expectEventNamed({ exitCode, out, json }: CommandResult): void {
  expect(exitCode).toBe(1);
  expect(out).not.toContain(SECRET);
  const findings = json as readonly Finding[];
  const stopped = findings.filter(({ status }) => status === "failed");
  const names = stopped.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["read model emails", "read model attachment-use"]));
  for (const { name, detail, action } of stopped) {
    expect(detail).toContain(`projection ${name.slice("read model ".length)} stopped at EmailSent`);
    expect(detail).toContain(`stream ${emailStream(id)}, revision 2`);
    expect(detail).toContain(
      "written by a newer version of this program: upgrade (its version is 9, this one reads 1)",
    );
    expect(action).toContain("Then start the service again");
  }
}

test(
  "an unreadable event is named by a command that reads the log up to it",
  async () => {
    const { exitCode, out, err } = await runCommand(
      ["projection", "as-of", "0s", "emails", "--json"],
      dataDir,
    );
    expect({ exitCode, out }).toEqual({ exitCode: 1, out: "" });
    const { error } = JSON.parse(err);
    expect(error.code).toBe("unreadable_event");
    expect(error.message).toContain(`stream ${emailStream(id)}, revision 2`);
    expect(err).not.toContain(SECRET);
  },
  TEST_MS_MAX,
);

test(
  "an unreadable event stops the read models that need it, and doctor says which, where and what to do",
  async () => {
    const stopped = async () => {
      const { status, json } = await app.call("GET", "/health/ready");
      return status === 503 && /emails: .*attachment-use: /.test(json.checks.read_models.detail);
    };
    await until(stopped, "the read models to stop", TEST_MS_MAX / 2);
    expectEventNamed(await doctor());
    await app.remove();
    expectEventNamed(await doctor());
  },
  TEST_MS_MAX,
);
