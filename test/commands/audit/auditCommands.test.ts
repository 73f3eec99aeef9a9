import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { readLastSeal } from "../../../src/commands/audit/auditSealer.ts";
import { AUDIT_STREAM, auditCodec } from "../../../src/domain/audit/events.ts";
import { parsePublicKeys } from "../../../src/kernel/crypto/auditSigningKey.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { withLogAt } from "../../support/auditedLog.ts";
import { runCalls } from "../../support/process/runCalls.ts";
import { runCommand, runProgram } from "../../support/process/runCommand.ts";
import { startTestProcess } from "../../support/service.ts";
import { testStores } from "../../support/stores/stores.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";
import { message, newKey, startService, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const TEST_MS_MAX = 120_000;

describe("on the command line", () => {
  const folder = temporaryFolder();
  const keyFile = join(folder, "seal.key");
  const otherKeyFile = join(folder, "other.key");
  const dataDir = join(folder, "data");
  const env = { AUDIT_SIGNING_KEY_FILE: keyFile };

  test(
    "a key is made, the log is sealed, verified, and found to be changed",
    async () => {
      const created = await runCommand(["audit", "keygen", keyFile], dataDir);
      expect(created.exitCode).toBe(0);
      expect(statSync(keyFile).mode & 0o077).toBe(0);
      expect(parsePublicKeys(readFileSync(`${keyFile}.pub`, "utf8"))).toHaveLength(1);
      const repeated = await runCommand(["audit", "keygen", keyFile], dataDir);
      expect([repeated.exitCode, repeated.err]).toEqual([
        1,
        `postledger: ${keyFile} already exists and is not overwritten\n`,
      ]);
      writeFileSync(`${otherKeyFile}.pub`, "another's");
      expect((await runCommand(["audit", "keygen", otherKeyFile], dataDir)).exitCode).toBe(1);
      // Half of a pair would stand in the way of the next try.
      expect(existsSync(otherKeyFile)).toBe(false);
      rmSync(`${otherKeyFile}.pub`);
      expect((await runCommand(["audit", "keygen", otherKeyFile], dataDir)).exitCode).toBe(0);

      const { json: workspace } = await runCommand(["workspace", "create", "Acme", "--json"], dataDir, env);
      const unsealed = await runCommand(["audit", "verify"], dataDir, env);
      expect([unsealed.exitCode, unsealed.out]).toEqual([
        0,
        expect.stringContaining("no seal: there is none"),
      ]);
      const sealed = await runCommand(["audit", "seal", "--json"], dataDir, env);
      expect(sealed).toMatchObject({ exitCode: 0, json: { seal: 0 } });

      const withKey = ["audit", "verify", "--public-key", `${keyFile}.pub`, "--digest", sealed.json.digest];
      const intact = await runCommand([...withKey, "--json"], dataDir, env);
      expect(intact).toMatchObject({
        exitCode: 0,
        json: { findings: 0, uncovered: 0, chain: { signed: 1 } },
      });
      const withOtherKey = await runCommand(
        ["audit", "verify", "--public-key", `${otherKeyFile}.pub`],
        dataDir,
        env,
      );
      expect([withOtherKey.exitCode, withOtherKey.out]).toEqual([
        1,
        expect.stringContaining(`unsigned  ${AUDIT_STREAM}@0`),
      ]);
      const doctor = await runCommand(["doctor", "--json"], dataDir, env);
      expect(doctor.json).toContainEqual(
        expect.objectContaining({
          name: "last seal",
          detail: expect.stringMatching(/^\d+ s ago, signed, \d+ events/),
        }),
      );

      const db = new DatabaseSync(join(dataDir, "events.db"));
      db.exec("UPDATE events SET data = replace(data, 'Acme', 'Acne') WHERE type = 'WorkspaceCreated'");
      db.close();
      const changed = await runCommand([...withKey], dataDir, env);
      expect(changed.exitCode).toBe(1);
      expect(changed.out).toContain(`changed  workspace-${workspace.id}@0`);
    },
    TEST_MS_MAX,
  );

  test(
    "a frozen log is not sealed",
    async () => {
      const env = { DATA_DIR: join(folder, "frozen") };
      const words = [
        ["workspace", "create", "Acme"],
        ["log", "export", "--freeze", "--out", join(folder, "log.zst")],
        ["audit", "seal"],
        ["log", "unfreeze"],
        ["audit", "seal", "--json"],
      ];
      const [created, frozen, refused, unfrozen, sealed] = await runCalls(
        words.map((one) => ({ words: one, env })),
      );
      expect([created?.status, frozen?.status, unfrozen?.status]).toEqual([0, 0, 0]);
      expect([refused?.status, refused?.err]).toEqual([
        1,
        expect.stringContaining("postledger: the log was frozen at "),
      ]);
      expect([sealed?.status, JSON.parse(sealed?.out ?? "")]).toEqual([
        0,
        expect.objectContaining({ seal: 0 }),
      ]);
    },
    TEST_MS_MAX,
  );

  test(
    "a seal without the key is refused after a signed one, unless it is asked for",
    async () => {
      const dataDir = join(folder, "keyless");
      const key = join(folder, "keyless.key");
      const withKey = { DATA_DIR: dataDir, AUDIT_SIGNING_KEY_FILE: key };
      const withoutKey = { DATA_DIR: dataDir };
      const verify = { words: ["audit", "verify", "--public-key", `${key}.pub`], env: withoutKey };
      const doctor = ["doctor", "--json"];
      const create = { words: ["workspace", "create", "Acme"], env: withoutKey };
      const [, , sealed, nothingNew, , refused, sound, keyless, keyed, bySchedule, stopped, unsound, after] =
        await runCalls([
          { words: ["audit", "keygen", key], env: withoutKey },
          create,
          { words: ["audit", "seal"], env: withKey },
          { words: ["audit", "seal", "--unsigned"], env: withKey },
          create,
          { words: ["audit", "seal"], env: withoutKey },
          verify,
          { words: doctor, env: withoutKey },
          { words: doctor, env: withKey },
          { words: doctor, env: { ...withoutKey, AUDIT_SEAL_INTERVAL_MS: "0" } },
          { words: ["audit", "seal", "--unsigned"], env: withKey },
          verify,
          { words: ["audit", "seal"], env: withoutKey },
        ]);
      expect(sealed?.status).toBe(0);
      expect([nothingNew?.status, nothingNew?.err]).toEqual([1, expect.stringContaining("no events since")]);
      expect([refused?.status, refused?.err]).toEqual([
        1,
        expect.stringMatching(/the last seal is signed, and AUDIT_SIGNING_KEY .* is not set\n.*--unsigned/),
      ]);
      expect(sound?.status).toBe(0);
      const lastSeal = (result: typeof keyless) =>
        JSON.parse(result?.out ?? "[]").find(({ name }: { name: string }) => name === "last seal");
      expect(lastSeal(keyless)).toMatchObject({
        status: "failed",
        detail: expect.stringContaining("nothing more is sealed"),
        action: expect.stringContaining("AUDIT_SIGNING_KEY"),
      });
      expect([lastSeal(keyed), lastSeal(bySchedule)]).toMatchObject([{ status: "ok" }, { status: "ok" }]);
      expect(stopped?.status).toBe(0);
      expect([unsound?.status, unsound?.out]).toEqual([1, expect.stringContaining("unsigned  audit@1")]);
      expect(after?.status).toBe(0);
    },
    TEST_MS_MAX,
  );

  test(
    "a service without the key seals nothing after a signed seal, and says so once",
    async () => {
      const dataDir = join(folder, "keyless-service");
      const key = join(folder, "keyless-service.key");
      await runCalls([
        { words: ["audit", "keygen", key], env: { DATA_DIR: dataDir } },
        { words: ["workspace", "create", "Acme"], env: { DATA_DIR: dataDir } },
        { words: ["audit", "seal"], env: { DATA_DIR: dataDir, AUDIT_SIGNING_KEY_FILE: key } },
      ]);
      const env = { AUDIT_SEAL_INTERVAL_MS: "20" };
      const service = await startTestProcess({ dataDir, env });
      const warnings = () =>
        service
          .log()
          .split("\n")
          .filter((line) => line.includes("could not be sealed"));
      await until(() => warnings().length > 0, "a warning", TEST_MS_MAX);
      const doctor = await runCommand(["doctor", "--json"], dataDir);
      expect(doctor.json).toContainEqual(expect.objectContaining({ name: "last seal", status: "failed" }));
      await service.kill("SIGTERM");
      expect(warnings()).toEqual([expect.stringContaining("AUDIT_SIGNING_KEY")]);
      await withLogAt(join(dataDir, "events.db"), async (store) =>
        expect(await store.lastRevision(AUDIT_STREAM)).toBe(0),
      );
    },
    TEST_MS_MAX,
  );

  test.each([
    ["a key file that is not there", ["audit", "verify", "--public-key", "/nowhere"], "cannot be read"],
    ["a key file that is none", ["audit", "verify", "--public-key", import.meta.path], "must hold Ed25519"],
    ["a digest that is none", ["audit", "verify", "--digest", "abc"], "must be 64 hex digits"],
    ["no file for a key", ["audit", "keygen"], "missing required argument 'file'"],
  ])(
    "%s is a usage error",
    async (_, words, expectedError) => {
      const { exitCode, err } = await runCommand(words, dataDir);
      expect([exitCode, err]).toEqual([2, expect.stringContaining(expectedError)]);
    },
    TEST_MS_MAX,
  );

  test(
    "a signing key that is none stops the start",
    async () => {
      const { exitCode, err } = await runProgram(["serve"], dataDir, { AUDIT_SIGNING_KEY: "none" });
      expect([exitCode, err]).toEqual([2, expect.stringContaining("AUDIT_SIGNING_KEY must be")]);
    },
    TEST_MS_MAX,
  );
});

describe.each(await testStores())("a service on $name", (store) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService(store, { AUDIT_SEAL_INTERVAL_MS: "20" });
  }, TEST_MS_MAX);
  afterAll(() => service.remove());

  /** Waits until a seal names the acceptance of this message. */
  const untilSealed = async (id: string) => {
    const isSealed = async () => {
      const last = (await readLastSeal(service.log.store))?.end.revision ?? -1;
      for (let revision = last; revision >= Math.max(0, last - 20); revision -= 1) {
        const [event] = await service.log.store.read(AUDIT_STREAM, revision, 1);
        if (event && auditCodec.decode(event).data.streams.includes(`email-${id}`)) return true;
      }
      return false;
    };
    await until(isSealed, `a seal of ${id}`, TEST_MS_MAX);
  };

  test(
    "seals what it writes by itself, also after a restart",
    async () => {
      const tenant = await service.tenant();
      for (const restarts of [false, true]) {
        if (restarts) await service.restart();
        const { status, json } = await tenant.send(newKey(), message({ subject: newId() }));
        expect(status).toBe(202);
        await untilSealed(json.id);
      }
    },
    TEST_MS_MAX,
  );
});
