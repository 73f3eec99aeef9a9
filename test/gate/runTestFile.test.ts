import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../support/until.ts";
import { runTestFile } from "./runTestFile.ts";
import { sumUp } from "./testReport.ts";

const HANGING_MS_MAX = 1_500;

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "planted-tests-"));
});
afterAll(() => rm(root, { recursive: true }));

/** Runs a test file with these lines; `test`, `expect` and `describe` are there. */
async function runLines(name: string, lines: readonly string[]) {
  const head = 'import { afterAll, describe, expect, test } from "bun:test";';
  await writeFile(join(root, `${name}.test.ts`), [head, ...lines].join("\n"));
  return runTestFile(`${name}.test.ts`, { root, fileMsMax: HANGING_MS_MAX });
}

const PASSES = 'test("passes", () => { expect(1).toBe(1); });';

test("a file that passes has no fault, and its tests are counted", async () => {
  const run = await runLines("fine", [
    PASSES,
    'test.skip("waits", () => {});',
    'describe("on EventStoreDB", () => { test("runs", () => {}); });',
  ]);
  expect(run.fault).toBeNull();
  expect(sumUp([run])).toEqual({
    passed: 2,
    failed: 0,
    skipped: 1,
    eventStoreDb: { ran: 1, skipped: 0 },
    browser: { ran: 0, skipped: 0 },
    failures: [],
  });
});

test("a test that fails is told with its file, its suites and its name", async () => {
  const nested = 'describe("outer", () => { describe("inner", () => { test("1 < 2 & \\"so on\\"", () => {';
  const run = await runLines("failing", [PASSES, `${nested} expect(1).toBe(2); }); }); });`]);
  expect(run.fault).toBeNull();
  expect(run.output).toContain("Expected: 2");
  const { passed, failed, failures } = sumUp([run]);
  expect({ passed, failed, failures }).toEqual({
    passed: 1,
    failed: 1,
    failures: ['failing.test.ts: outer > inner > 1 < 2 & "so on"'],
  });
});

test.each([
  ["crashes", [PASSES, 'test("dies", () => process.kill(process.pid, "SIGKILL"));'], "ended by SIGKILL"],
  ["exits", [PASSES, 'test("leaves", () => process.exit(0));'], "no test has reported (exit status 0)"],
  ["hangs", [PASSES, 'test("spins", () => { for (;;); });'], "did not end in time and was killed"],
  ["isSilent", ['console.log("nothing to test");'], "no test has reported (exit status 0)"],
  ["doesNotLoad", ['import { a } from "./nowhere.ts";', "a();"], "no test has reported (exit status 1)"],
  [
    "breaksAfterwards",
    [PASSES, 'afterAll(() => { setTimeout(() => { throw new Error("late"); }, 0); return Bun.sleep(50); });'],
    "",
  ],
])("a file that %s counts as failed", async (name, lines, fault) => {
  const run = await runLines(name, lines);
  const { failed, failures } = sumUp([run]);
  expect(failed).toBe(1);
  expect(failures[0]).toStartWith(`${name}.test.ts: `);
  expect(failures[0]).toContain(fault);
});

test("what a file that hangs has started ends with it", async () => {
  const run = await runLines("leaves", [
    'const child = Bun.spawn(["sleep", "600"]);',
    'console.log("pid=" + child.pid);',
    'test("spins", () => { for (;;); });',
  ]);
  const pid = Number(/pid=(\d+)/.exec(run.output)?.[1]);
  expect(pid).toBeGreaterThan(0);
  await until(() => !isAlive(pid), "the process that the file has started to end");
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
