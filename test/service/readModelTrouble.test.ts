import { afterEach, beforeEach, describe, expect, jest, test } from "bun:test";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import { LOG_START } from "../../src/ports/eventStore.ts";
import { readModelLog } from "../../src/service/threads/readModelLogLines.ts";
import { superviseReadModels } from "../../src/service/threads/readModelSupervisor.ts";
import { runCommand } from "../support/process/runCommand.ts";
import { startTestProcess } from "../support/service.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";
import { until } from "../support/until.ts";

const PROGRESS = { type: "progress", position: LOG_START, caughtUp: true, hasWatchedEvent: false } as const;
const REASON = "disk I/O error";

describe("while the read models' thread cannot work", () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  test("it is begun again less and less often, and at once again after one that has lasted", () => {
    const threads: Worker[] = [];
    const openThread = () => {
      const thread = { postMessage() {}, terminate() {} } as unknown as Worker;
      threads.push(thread);
      return thread;
    };
    const events: string[] = [];
    const options = {
      onEvent: ({ type }: { type: string }) => void events.push(type),
      onSealTrouble() {},
      onDamagedLog() {},
    };
    const start = {} as Parameters<typeof superviseReadModels>[0]["start"];
    superviseReadModels({ start, ...options, openThread });
    const failAll = (forMs: number) => {
      const before = threads.length;
      for (let ms = 0; ms < forMs; ms += 500) {
        const data = { ended: REASON };
        if (threads.length > events.length) threads.at(-1)?.onmessage?.({ data } as MessageEvent);
        jest.advanceTimersByTime(500);
      }
      return threads.length - before;
    };
    expect(failAll(60_000)).toBe(5);
    expect(failAll(600_000)).toBe(20);
    expect(new Set(events)).toEqual(new Set(["interrupted"]));
    jest.advanceTimersByTime(60_000);
    expect(failAll(3_500)).toBe(2);
  });

  test("one line says so, and one when it is over; what comes and goes has one line a minute", () => {
    const lines: string[] = [];
    const line = (level: string) => (_: unknown, text?: string) => void lines.push(text ? level : "info");
    const log = readModelLog({ error: line("error"), info: line("info") } as unknown as Logger);
    const stopped = { type: "failed", name: "emails", reason: REASON, retrying: true } as const;
    const joined = { type: "joined", name: "emails", position: LOG_START } as const;
    for (let time = 0; time < 9; time += 1) log({ type: "interrupted", reason: REASON });
    expect(lines).toEqual(["error"]);
    log({ type: "interrupted", reason: "another one" });
    log(PROGRESS);
    log(PROGRESS);
    expect(lines).toEqual(["error", "error", "info"]);
    for (let time = 0; time < 29; time += 1) {
      log(stopped);
      log(joined);
      jest.advanceTimersByTime(2_000);
    }
    expect(lines.splice(0)).toEqual(["error", "error", "info", "error", "info"]);
    jest.advanceTimersByTime(2_000);
    log(stopped);
    expect(lines).toEqual(["error"]);
  });

  test("one line says why a rebuilt read model does not replace the current one", () => {
    const lines: unknown[] = [];
    const log = readModelLog({ error: (...line: unknown[]) => void lines.push(line) } as unknown as Logger);
    log({ type: "discarded", name: "emails", file: "emails.7.2.db", reason: REASON });
    expect(lines).toEqual([
      [{ readModel: "emails", reason: REASON }, expect.stringContaining("rebuilt read model was given up")],
    ]);
  });
});

const TEST_MS_MAX = 60_000;

test(
  "read models whose directory cannot be used make the service unready, and it is ready when it can be used again",
  async () => {
    const dataDir = temporaryFolder();
    await writeFile(join(dataDir, "projections"), "in the way");
    const env = { STORE_TIMEOUT_MS: "500" };
    const service = await startTestProcess({ dataDir, env });
    try {
      const readModels = async () => {
        const { json } = await service.call("GET", "/health/ready");
        return json.checks.read_models;
      };
      expect((await readModels()).ok).toBe(false);
      // The thread may take longer to begin than the service waits for it.
      await until(async () => (await readModels()).detail.includes("EEXIST"), "the reason");
      const { detail } = await readModels();
      expect(detail).toContain("emails, ");
      expect(detail).not.toContain(dataDir);
      const doctor = await runCommand(["doctor"], dataDir, { STORE_URL: `file:${dataDir}` });
      expect(doctor.out).toContain("0 deliveries under way, messages due unknown");
      await rm(join(dataDir, "projections"));
      await until(async () => (await readModels()).ok, "the read models");
      // A line reaches us later than the answer.
      await until(() => service.log().includes("the read models' thread works again"), "the line");
      expect(service.log().split("the read models' thread failed")).toHaveLength(2);
    } finally {
      await service.kill("SIGKILL");
    }
  },
  TEST_MS_MAX,
);
