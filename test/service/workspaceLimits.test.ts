import { afterAll, beforeAll, expect, test } from "bun:test";
import { rm } from "node:fs/promises";
import { runCommand } from "../support/process/runCommand.ts";
import { startTestProcess, type TestProcess } from "../support/service.ts";
import { freePort } from "../support/stores/eventstoredb.ts";
import { message, newKey } from "../support/tenants.ts";
import { until } from "../support/until.ts";

const TEST_MS_MAX = 120_000;
/** Two messages with the text below reach it, and one comes near. */
const QUOTA_BYTES = 15_000;
const TEXT = "x".repeat(13_000);

let service: TestProcess;
let metricsPort: number;
beforeAll(async () => {
  metricsPort = await freePort();
  const env = {
    ...{ BASE_URL: "https://mail.example.com", SMTP_URL: "outbox:", BOOTSTRAP: "on" },
    ...{ METRICS_PORT: String(metricsPort), LIMIT_CONTENT_BYTES: String(QUOTA_BYTES) },
  };
  service = await startTestProcess({ env });
}, TEST_MS_MAX);
afterAll(async () => {
  await service.kill("SIGTERM");
  await rm(service.dataDir, { recursive: true, force: true });
});

const send = () => service.send(newKey(), message({ from: "hello@example.com", text: TEXT }));

async function nearContent(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const line = /^postledger_workspaces_near_limit\{limit="content"\} (\d+)$/m.exec(text);
  return Number(line?.[1] ?? Number.NaN);
}

const checkNamed = async (name: string) =>
  (await runCommand(["doctor"], service.dataDir)).out.split("\n").find((line) => line.includes(` ${name}: `));
const limitsCheck = () => checkNamed("workspace limits");

const linesOf = (text: string) =>
  service
    .log()
    .split("\n")
    .filter((line) => line.includes(text))
    .map((line) => JSON.parse(line));

test(
  "a content quota that fills up shows in the log, in doctor and in the metrics, until it has room again",
  async () => {
    const { id } = (await service.call("GET", "/api/v1/workspace")).json;
    expect((await send()).status).toBe(202);
    expect(await limitsCheck()).toStartWith("ok ");
    expect(await nearContent()).toBe(0);

    // The second message is decided on what the first one has used.
    expect((await send()).status).toBe(202);
    const [near] = linesOf("used 80 % of its quota for content");
    expect(near).toMatchObject({ level: 40, workspace: id, limit: QUOTA_BYTES });
    await until(async () => (await nearContent()) === 1, "the metric");
    expect(await limitsCheck()).toMatch(new RegExp(`^warning .*\\(${id}\\): quota for content, \\d+ % of`));

    for (const answer of [await send(), await send()]) {
      expect(answer.json).toMatchObject({ code: "STORAGE_LIMIT_EXCEEDED", retryable: true });
      expect(answer.headers.get("retry-after")).toBe("60");
    }
    expect(linesOf("no room left in its quota for content")).toHaveLength(1);
    expect(linesOf("used 80 % of its quota for content")).toHaveLength(1);

    await runCommand(["workspace", "limits", id, "--content-bytes", "1000000"], service.dataDir);
    await until(async () => (await nearContent()) === 0, "the limit to be raised");
    expect(await limitsCheck()).toStartWith("ok ");
  },
  TEST_MS_MAX,
);

test(
  "a content quota of one workspace that allows more than the disk holds shows in doctor",
  async () => {
    const { id } = (await service.call("GET", "/api/v1/workspace")).json;
    await until(async () => (await checkNamed("room for content"))?.startsWith("ok ") === true, "the check");
    const limit = ["workspace", "limits", id, "--content-bytes", String(2 ** 50)];
    expect((await runCommand(limit, service.dataDir)).exitCode).toBe(0);
    const warned = async () => (await checkNamed("room for content"))?.startsWith("warning ") === true;
    await until(warned, "the warning");
    expect(await checkNamed("room for content")).toMatch(
      / 1 quota for content allows more .*: default 1\.1 PB\. To do: lower LIMIT_CONTENT_BYTES/,
    );
  },
  TEST_MS_MAX,
);
