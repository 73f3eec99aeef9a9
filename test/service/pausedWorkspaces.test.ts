import { afterAll, beforeAll, expect, test } from "bun:test";
import { rm } from "node:fs/promises";
import { runCommand } from "../support/process/runCommand.ts";
import { startTestProcess, type TestProcess } from "../support/service.ts";
import { freePort } from "../support/stores/eventstoredb.ts";
import { until } from "../support/until.ts";

const TEST_MS_MAX = 120_000;

let service: TestProcess;
let metricsPort: number;
beforeAll(async () => {
  metricsPort = await freePort();
  service = await startTestProcess({ env: { METRICS_PORT: String(metricsPort) } });
}, TEST_MS_MAX);
afterAll(async () => {
  await service.kill("SIGTERM");
  await rm(service.dataDir, { recursive: true, force: true });
});

async function pausedCount(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  return Number(/^postledger_workspaces_paused (\d+)$/m.exec(text)?.[1] ?? Number.NaN);
}

const sendingCheck = async () =>
  (await runCommand(["doctor"], service.dataDir)).out.split("\n").find((line) => / sending: /.test(line));

/** The log lines about sending. */
function linesSaying(text: string) {
  const lines = service.log().split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line)).filter(({ msg }) => String(msg).startsWith(text));
}
const PAUSED = "sending of a workspace is paused";
const RESUMED = "sending of a workspace is resumed";

test(
  "a pause shows in the log, in doctor and in the metrics until it ends, wherever it was begun and ended",
  async () => {
    const { id } = (await service.call("GET", "/api/v1/workspace")).json;
    const pausedInApi = async () => (await service.call("POST", "/api/v1/workspace/pause")).json.paused_at;
    const pausedByCommand = async () => {
      expect((await runCommand(["workspace", "pause"], service.dataDir)).exitCode).toBe(0);
      return (await service.call("GET", "/api/v1/workspace")).json.paused_at;
    };
    const resumedInApi = () => service.call("POST", "/api/v1/workspace/resume");
    const resumedByCommand = () => runCommand(["workspace", "resume"], service.dataDir);
    await until(async () => (await pausedCount()) === 0, "no workspace to be paused");
    expect(await sendingCheck()).toBe("ok       sending: paused in no workspace");
    const turns = [
      [pausedInApi, resumedByCommand],
      [pausedByCommand, resumedInApi],
    ] as const;
    for (const [nth, [pause, resume]] of turns.entries()) {
      const since = await pause();
      await until(() => linesSaying(PAUSED).length === nth + 1, "the line of the pause");
      expect(linesSaying(PAUSED)[nth]).toMatchObject({ workspaceId: id, since });
      expect(await pausedCount()).toBe(1);
      const check = await sendingCheck();
      expect(check).toMatch(
        new RegExp(`^warning {2}sending: paused in 1 workspace: .+ \\(${id}\\) since ${since}`),
      );
      expect(check).toContain("workspace resume <id>");
      await resume();
      await until(() => linesSaying(RESUMED).length === nth + 1, "the line of the end");
      expect(linesSaying(RESUMED)[nth]).toMatchObject({ workspaceId: id });
      expect(await pausedCount()).toBe(0);
    }
  },
  TEST_MS_MAX,
);
