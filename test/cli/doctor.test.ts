import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { once } from "node:events";
import { mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type OpenForCommand, withLog } from "../../src/cli/program/openStoreForCommand.ts";
import { askRunningService } from "../../src/cli/service/askRunningService.ts";
import { recordBackupOrExport } from "../../src/commands/instance/recordBackupOrExport.ts";
import { apiKeyId } from "../../src/kernel/crypto/apiKeyFormat.ts";
import { DAY_MS } from "../../src/kernel/time.ts";
import { readConfig } from "../../src/service/config/config.ts";
import { lockDataDirectory } from "../../src/service/dataDirectoryLock.ts";
import { openLocalControl, serviceAddress } from "../../src/service/localControlServer.ts";
import { ageText } from "../../src/service/status/ageText.ts";
import type { Check } from "../../src/service/status/checks/check.ts";
import { readModelLag } from "../../src/service/status/checks/log/readModelChecks.ts";
import { systemCommandContext } from "../../src/service/systemCommandContext.ts";
import { runCommand } from "../support/process/runCommand.ts";
import { callerOf, startTestProcess } from "../support/service.ts";
import { freePort } from "../support/stores/eventstoredb.ts";
import { testStores } from "../support/stores/stores.ts";
import { until } from "../support/until.ts";

const TEST_MS_MAX = 120_000;
/** Longer than Bun lets a connection be silent by itself; a relay that does not greet takes as long. */
const SLOW_ANSWER_MS = 12_000;
const PASSWORD = "not-to-be-told";

test.each([
  [0, "0 s"],
  [99_400, "99 s"],
  [416_000, "7 min"],
  [30 * 3_600_000, "30 h"],
  [9 * 86_400_000, "9 days"],
])("an age of %p ms is shown as %p", (ms, text) => expect(ageText(ms)).toBe(text));

describe.each(await testStores())("doctor, on $name", (store) => {
  let dataDir: string;
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "postledger-doctor-"));
  });
  afterAll(() => rm(dataDir, { recursive: true, force: true }));

  const checksOf = (json: unknown) => new Map((json as readonly Check[]).map((check) => [check.name, check]));

  test(
    "asks the running service, whose relay is down and whose settings this command does not have",
    async () => {
      const port = await freePort();
      const relay = { SMTP_URL: `smtp://user:${PASSWORD}@127.0.0.1:${port}` };
      const masterKey = crypto.getRandomValues(new Uint8Array(32)).toBase64();
      const env = { ...store.env, ...(store.isShared ? {} : { MASTER_KEY: masterKey }), ...relay };
      const service = await startTestProcess({ dataDir, env });
      try {
        const caughtUp = async () => {
          const { exitCode, json } = await runCommand(["doctor", "--json"], dataDir);
          const checks = checksOf(json);
          const areLevel = [...checks.values()].filter(({ name }) => name.startsWith("read model "));
          return { exitCode, checks, isCaughtUp: areLevel.every(({ status }) => status === "ok") };
        };
        await until(
          async () => (await caughtUp()).isCaughtUp,
          "the read models to catch up",
          TEST_MS_MAX / 2,
        );
        const key = await readFile(join(dataDir, "bootstrap.key"), "utf8");
        const body = { RecordType: "SpamComplaint" };
        await callerOf(service.url, key.trim()).call("POST", "/api/v1/feedback/postmark", { body });
        const { exitCode, checks } = await caughtUp();
        expect(exitCode).toBe(1);
        expect(checks.get("provider reports")).toMatchObject({
          status: "ok",
          detail: expect.stringContaining("1 report from postmark matched no message"),
        });
        const bad = [...checks.values()].filter(({ status }) => status === "failed");
        expect(bad).toEqual([
          {
            name: "relay (smtp)",
            status: "failed",
            detail: expect.stringContaining("ECONNREFUSED"),
            action: expect.stringContaining("SMTP_URL"),
          },
        ]);
        expect(checks.get("service")?.detail).toContain(`running at ${service.url}`);
        expect(checks.get("configuration")?.detail).toContain(`mail to 127.0.0.1:${port}, delivery on`);
        for (const name of [
          "log",
          "log format",
          "master key",
          "read model emails",
          "disk",
          "delivery workers",
        ])
          expect(checks.get(name)).toMatchObject({ status: "ok", action: null });
        expect(checks.get("first key")).toEqual({
          name: "first key",
          status: "warning",
          detail: expect.stringContaining(join(dataDir, "bootstrap.key")),
          action: expect.stringContaining(`api-key revoke ${apiKeyId(service.apiKey)}`),
        });
        await rename(join(dataDir, "bootstrap.key"), join(dataDir, "elsewhere"));
        const { out } = await runCommand(["doctor"], dataDir);
        expect(out).toMatch(/^failed {3}relay \(smtp\): .*\. To do: check host and port in SMTP_URL/m);
        // The embedded log has no backup yet; on a log that suites share, some leave workspaces paused.
        const warnings = store.isShared ? String.raw`\d+` : "1";
        expect(out).toMatch(new RegExp(` ok, ${warnings} with a warning, 1 failed\n$`));
        expect(out + JSON.stringify([...checks.values()])).not.toContain(PASSWORD);
      } finally {
        await service.kill("SIGTERM");
      }
      expect(await serviceAddress(dataDir)).toBeNull();
    },
    TEST_MS_MAX,
  );

  test(
    "says how far each read model is behind the log, and of which there is nothing that it lacks",
    async () => {
      const own = await mkdtemp(join(tmpdir(), "postledger-doctor-"));
      const env = { ...store.env, BOOTSTRAP: "on" };
      const readModels = async () => {
        const { json } = await runCommand(["doctor", "--json"], own, env);
        return checksOf(json);
      };
      const level = { status: "ok", detail: "at the head of the log", action: null };
      try {
        const service = await startTestProcess({ dataDir: own, env });
        const isCaughtUp = async () =>
          (await readModels()).get("read model api-keys")?.detail === level.detail;
        await until(isCaughtUp, "the read models to catch up", TEST_MS_MAX / 2);
        await service.kill("SIGTERM");
        const { out } = await runCommand(["workspace", "list", "--json"], own, env);
        const [workspace] = JSON.parse(out) as readonly { id: string }[];
        const writtenSince = Date.now();
        for (let times = 0; times < 2; times += 1) {
          const words = ["api-key", "create", "--workspace", workspace?.id ?? "", "--scopes", "email:send"];
          expect((await runCommand(words, own, env)).exitCode).toBe(0);
        }
        const writtenUntil = Date.now();
        const checks = await readModels();
        const { status, detail = "" } = checks.get("read model api-keys") ?? {};
        expect(status).toBe("ok");
        const [, since] =
          /^\d+\.\d s behind the log: it lacks what was written since (\S+)$/.exec(detail) ?? [];
        expect(Date.parse(since ?? "")).toBeWithin(writtenSince, writtenUntil + 1);
        expect(checks.get("read model templates")).toMatchObject(level);
      } finally {
        await rm(own, { recursive: true, force: true });
      }
    },
    TEST_MS_MAX,
  );
});

test(
  "doctor warns until there is a backup, and again when the last one is more than a week old",
  async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "postledger-doctor-"));
    const backup = async () => {
      const { json } = await runCommand(["doctor", "--json"], dataDir);
      return (json as readonly Check[]).find(({ name }) => name === "backup");
    };
    const recordBackup = (daysAgo: number) => {
      const context = { ...systemCommandContext("cli"), at: Date.now() - daysAgo * DAY_MS };
      const record = ({ log }: OpenForCommand) =>
        recordBackupOrExport(log, { kind: "backup", place: "/backups/old" }, context);
      return withLog(readConfig({ DATA_DIR: dataDir }), record, { writes: true });
    };
    const action = expect.stringContaining("backup create --out");
    try {
      await runCommand(["workspace", "create", "Acme"], dataDir);
      expect(await backup()).toMatchObject({ status: "warning", detail: "there has never been one", action });
      await recordBackup(8);
      const detail = "the last one was begun 8 days ago";
      expect(await backup()).toMatchObject({ status: "warning", detail, action });
      await runCommand(["log", "export", "--out", join(dataDir, "log.jsonl")], dataDir);
      expect(await backup()).toMatchObject({ status: "warning", detail });
      expect((await runCommand(["backup", "create", "--out", join(dataDir, "copy")], dataDir)).exitCode).toBe(
        0,
      );
      expect(await backup()).toMatchObject({ status: "ok", action: null });
    } finally {
      await rm(dataDir, { recursive: true });
    }
  },
  TEST_MS_MAX,
);

describe("a read model's lag", () => {
  const FOLLOWED = { firstRead: null };

  test("is a warning only where something follows the log and does not keep up", () => {
    const secondsAgo = (seconds: number) => Date.now() - seconds * 1_000;
    expect(readModelLag("emails", secondsAgo(60), FOLLOWED)).toMatchObject({
      status: "warning",
      detail: expect.stringMatching(/^60\.\d s behind the log: it lacks what was written since 2\S+Z$/),
    });
    expect(readModelLag("emails", secondsAgo(1), FOLLOWED).status).toBe("ok");
    expect(readModelLag("emails", secondsAgo(60), null).status).toBe("ok");
    expect(readModelLag("emails", "unknown", FOLLOWED).status).toBe("warning");
  });

  test("is told as a share of the log while it is read for the first time", () => {
    const since = Date.now() - 2_645_500;
    expect(readModelLag("emails", since, { firstRead: 0.427 })).toMatchObject({
      status: "warning",
      detail: "being built: 42% of the log is read",
    });
  });
});

describe("doctor", () => {
  let dataDir: string;
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "postledger-doctor-"));
  });
  afterAll(() => rm(dataDir, { recursive: true, force: true }));

  test(
    "says that no service runs, also where one was killed, and looks for itself",
    async () => {
      const service = await startTestProcess({ dataDir });
      await service.kill("SIGKILL");
      expect(await serviceAddress(dataDir)).not.toBeNull();
      const { exitCode, out } = await runCommand(["doctor"], dataDir);
      expect(exitCode).toBe(0);
      expect(out).toMatch(
        /^warning {2}service: none runs on .*To do: `bun run postledger serve` starts one$/m,
      );
      expect(out).toMatch(/^ok {7}relay \(outbox\): can be written to$/m);
      const expecting = await runCommand(["doctor", "--expect-service"], dataDir);
      expect(expecting.exitCode).toBe(1);
      expect(expecting.out).toMatch(/^failed {3}service: none runs on .*To do: /m);
    },
    TEST_MS_MAX,
  );

  test.concurrent(
    "hears of a service whose relay hangs: an answer that takes long is no silence",
    async () => {
      const itsDir = await mkdtemp(join(tmpdir(), "postledger-doctor-"));
      const found: readonly Check[] = [
        { name: "relay", status: "failed", detail: "no greeting", action: "" },
      ];
      const status = async () => {
        await Bun.sleep(SLOW_ANSWER_MS);
        return found;
      };
      const control = await openLocalControl(itsDir, {
        status,
        settled: async () => true,
        waiting: async () => null,
        dashboardLink: async () => null,
      });
      try {
        expect(await askRunningService(itsDir, "/status", TEST_MS_MAX)).toEqual({
          kind: "answered",
          body: found,
        });
      } finally {
        await control.close();
        await rm(itsDir, { recursive: true, force: true });
      }
    },
    TEST_MS_MAX,
  );

  test.concurrent(
    "does not wait long for a service that is suspended, however long its checks might take",
    async () => {
      const itsDir = await mkdtemp(join(tmpdir(), "postledger-doctor-"));
      // As of a suspended process, whose connections the system still accepts.
      const suspended = createServer().listen(0, "127.0.0.1");
      await once(suspended, "listening");
      const { port } = suspended.address() as AddressInfo;
      await writeFile(
        join(itsDir, "service.json"),
        JSON.stringify({ url: `http://127.0.0.1:${port}`, token: "any" }),
      );
      const lock = lockDataDirectory(itsDir);
      try {
        const began = performance.now();
        expect(await askRunningService(itsDir, "/status", TEST_MS_MAX)).toEqual({ kind: "silent" });
        expect(performance.now() - began).toBeLessThan(SLOW_ANSWER_MS);
      } finally {
        lock?.release();
        suspended.close();
        await rm(itsDir, { recursive: true, force: true });
      }
    },
    TEST_MS_MAX,
  );

  test(
    "is answered for the token of this run alone, which nobody else can read",
    async () => {
      const service = await startTestProcess({ dataDir });
      try {
        const address = await serviceAddress(dataDir);
        const request = (authorization?: string) =>
          fetch(`${address?.url}/status`, authorization === undefined ? {} : { headers: { authorization } });
        expect((await stat(join(dataDir, "service.json"))).mode & 0o777).toBe(0o600);
        const key = (await readFile(join(dataDir, "bootstrap.key"), "utf8")).trim();
        for (const wrong of [undefined, "", "Bearer ", `Bearer ${key}`, `Bearer ${address?.token}x`]) {
          const { status, headers } = await request(wrong);
          expect([status, headers.get("content-length")]).toEqual([401, "0"]);
        }
        expect((await request(`Bearer ${address?.token}`)).status).toBe(200);
        await writeFile(join(dataDir, "service.json"), JSON.stringify({ ...address, token: "another" }));
        const { exitCode, out } = await runCommand(["doctor"], dataDir);
        expect(exitCode).toBe(1);
        expect(out).toMatch(/^failed {3}service: the one on .* does not answer/m);
      } finally {
        await service.kill("SIGKILL");
      }
    },
    TEST_MS_MAX,
  );
});
