import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../support/until.ts";
import { runTestFile, runTestFilesTogether } from "./runTestFile.ts";
import { sumUp } from "./testReport.ts";

const HANGING_MS_MAX = 1_500;
/** Each starts several processes, one after the other, on cores that are shared. */
setDefaultTimeout(60_000);

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "planted-tests-"));
});
afterAll(() => rm(root, { recursive: true }));

/** Writes a test file with these lines; `test`, `expect` and `describe` are there. */
async function writeLines(name: string, lines: readonly string[]): Promise<string> {
  const head = 'import { afterAll, describe, expect, test } from "bun:test";';
  await writeFile(join(root, `${name}.test.ts`), [head, ...lines].join("\n"));
  return `${name}.test.ts`;
}

async function runLines(name: string, lines: readonly string[]) {
  return runTestFile(await writeLines(name, lines), { root, fileMsMax: HANGING_MS_MAX });
}

/** Runs files in one process; answers how many tests of each have passed, and what failed. */
async function runTogether(files: Readonly<Record<string, readonly string[]>>) {
  const written: string[] = [];
  for (const [name, lines] of Object.entries(files)) written.push(await writeLines(name, lines));
  const runs = await runTestFilesTogether(written, { root, fileMsMax: HANGING_MS_MAX });
  const passed = Object.fromEntries(runs.map((run) => [run.file, sumUp([run]).passed]));
  return { passed, failures: sumUp(runs).failures };
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
  await until(() => !isAlive(pid), "the process started by the file to end");
});

test("files in one process are told apart, down to the one that fails", async () => {
  const fails = 'describe("a", () => { test("fails", () => { expect(1).toBe(2); }); });';
  const nested = `describe("outer", () => { ${PASSES} });`;
  expect(await runTogether({ one: [PASSES, nested], two: [fails, PASSES], three: [PASSES] })).toEqual({
    passed: { "one.test.ts": 2, "two.test.ts": 1, "three.test.ts": 1 },
    failures: ["two.test.ts: a > fails"],
  });
});

test("a file that failed after another one had runs again, without what that has left behind", async () => {
  const leaves = 'test("leaves something", () => { process.env.LEFT = "yes"; expect(1).toBe(2); });';
  const finds = 'test("finds nothing", () => { expect(process.env.LEFT).toBeUndefined(); });';
  expect(await runTogether({ leaves: [leaves], finds: [finds] })).toEqual({
    passed: { "leaves.test.ts": 0, "finds.test.ts": 1 },
    failures: ["leaves.test.ts: leaves something"],
  });
});

test.each([
  ["crashes", 'test("dies", () => process.kill(process.pid, "SIGKILL"));', "ended by SIGKILL"],
  ["hangs", 'test("spins", () => { for (;;); });', "did not end in time and was killed"],
  ["exits", 'test("leaves", () => process.exit(0));', "no test has reported (exit status 0)"],
])("a file that %s in one process with others takes none of them along", async (name, line, fault) => {
  const { passed, failures } = await runTogether({ before: [PASSES], [name]: [line], after: [PASSES] });
  expect(passed).toEqual({ "before.test.ts": 1, [`${name}.test.ts`]: 0, "after.test.ts": 1 });
  expect(failures).toHaveLength(1);
  expect(failures[0]).toStartWith(`${name}.test.ts: `);
  expect(failures[0]).toContain(fault);
});

test("what goes wrong only in one process is a failure too", async () => {
  const leaves = 'test("passes", () => { process.env.LEFT = "yes"; });';
  const dies = 'test("dies", () => { if (process.env.LEFT) process.exit(3); });';
  const { failures } = await runTogether({ leaves: [leaves], dies: [dies] });
  expect(failures).toEqual([
    "leaves.test.ts: no test has reported (exit status 3), in one process with dies.test.ts",
  ]);
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
