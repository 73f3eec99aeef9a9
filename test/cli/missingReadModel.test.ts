import { afterAll, beforeAll, expect, test } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { sqliteReadDatabases } from "../../src/adapters/sqlite/readModelDatabases.ts";
import { currentFile } from "../readModels/followFixtures.ts";
import { runCommand } from "../support/process/runCommand.ts";
import { startTestApp, type TestApp } from "../support/service.ts";
import { until } from "../support/until.ts";

const TEST_MS = 60_000;
let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
}, TEST_MS);
afterAll(() => app.remove());

test(
  "a read model whose file was deleted under a running service is named by all commands, with what rebuilds it",
  async () => {
    const storage = {
      databases: sqliteReadDatabases,
      directory: join(app.dataDir, "projections"),
      logId: "",
    };
    const file = currentFile(storage, "emails");
    for (const ending of ["", "-wal", "-shm"])
      await rm(join(storage.directory, file + ending), { force: true });
    const missing = `its file ${file} is missing: \`bun run postledger projection rebuild emails\` makes a new one`;
    const list = await runCommand(["projection", "list"], app.dataDir);
    expect(list.out).toMatch(/^emails {2}v\d+ {2}failed {2}\? rows {2}its file /m);
    expect(list.out).toContain(missing);
    expect(list.exitCode).toBe(1);
    const verify = await runCommand(["projection", "verify", "emails"], app.dataDir);
    expect(verify).toMatchObject({ exitCode: 1, out: `emails  not verified: ${missing}\n` });
    const doctor = await runCommand(["doctor"], app.dataDir);
    expect(doctor.out).toContain(`failed   read model emails: ${missing}\n`);
    expect(doctor.exitCode).toBe(1);
    await runCommand(["projection", "rebuild", "emails"], app.dataDir);
    const isFine = async () => (await runCommand(["doctor"], app.dataDir)).exitCode === 0;
    await until(isFine, "the service to switch to the new file", TEST_MS);
  },
  TEST_MS,
);
