import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { contractTable, coverageFaults, webhookFaults } from "./answerCoverage.ts";
import { ANSWERS_FILE_VARIABLE, readAnswers, type SeenLine } from "./answerLog.ts";
import { runCheckSteps } from "./checkSteps.ts";
import { readTestReport, type TestReport } from "./testReport.ts";

const ROOT = join(import.meta.dir, "../..");
/** Longer than anything that a test waits for: a slow machine makes a test slow, not wrong. */
const TEST_MS_MAX = 60_000;

interface Run extends TestReport {
  readonly exitCode: number;
  /** Every kind of answer that the tests have seen. */
  readonly answers: readonly SeenLine[];
}

/** Runs every test with its output passed on, and reads how it went from Bun's own report. */
async function runTests(): Promise<Run> {
  const directory = await mkdtemp(join(tmpdir(), "test-report-"));
  const outfile = join(directory, "junit.xml");
  const reporter = ["--reporter=junit", `--reporter-outfile=${outfile}`];
  const command = [process.execPath, "test", `--timeout=${TEST_MS_MAX}`, ...reporter];
  const answersFile = join(directory, "answers.jsonl");
  await writeFile(answersFile, "");
  const child = Bun.spawn(command, {
    cwd: ROOT,
    env: { ...process.env, [ANSWERS_FILE_VARIABLE]: answersFile },
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
  });
  const exitCode = await child.exited;
  const junit = await readFile(outfile, "utf8").catch(() => "");
  const answers = readAnswers(answersFile);
  await rm(directory, { recursive: true, force: true });
  const files = [...new Bun.Glob("test/**/*.test.{ts,tsx}").scanSync({ cwd: ROOT })].sort();
  return { ...readTestReport(junit, files), exitCode, answers };
}

function eventStoreDbLine({ ran, skipped }: TestReport["eventStoreDb"]): string {
  if (ran === 0) return `EventStoreDB: its half did NOT run (${skipped} tests skipped)`;
  return `EventStoreDB: its half ran (${ran} tests${skipped === 0 ? "" : `, ${skipped} skipped`})`;
}

function browserLine({ ran, skipped }: TestReport["browser"]): string {
  if (ran === 0) return `Browser: its tests did NOT run (${skipped} skipped): no Chromium, see CHROMIUM_PATH`;
  return `Browser: its tests ran (${ran}${skipped === 0 ? "" : `, ${skipped} skipped`})`;
}

/** Prints who provoked what, and answers what the contract or the document promises and no test has seen. */
function answerFaults({ answers, eventStoreDb }: Run): readonly string[] {
  const stores = eventStoreDb.ran === 0 ? (["SQLite"] as const) : (["SQLite", "EventStoreDB"] as const);
  const { lines, faults } = contractTable(answers, stores);
  console.log(["The contract's error codes, and the request that provoked each:", ...lines].join("\n"));
  return [...faults, ...coverageFaults(answers), ...webhookFaults(answers, stores)];
}

const steps = await runCheckSteps();
const report = await runTests();

// A run can fail without a failed test: a file that does not load, an error between two tests, a crash.
const brokenRuns = report.exitCode !== 0 && report.failed === 0 && report.silentFiles.length === 0 ? 1 : 0;
const unseen = answerFaults(report);
const stepsPassed = steps.filter(({ passed }) => passed).length;
const passed = stepsPassed + report.passed;
const failed =
  steps.length - stepsPassed + report.failed + report.silentFiles.length + brokenRuns + unseen.length;

for (const { name } of steps.filter((step) => !step.passed)) console.log(`failed: check step "${name}"`);
for (const file of report.silentFiles) console.log(`failed: no test of ${file} has reported`);
for (const fault of unseen) console.log(`failed: ${fault}`);
if (brokenRuns > 0) console.log(`failed: bun test ended with exit status ${report.exitCode}`);
console.log(eventStoreDbLine(report.eventStoreDb));
console.log(browserLine(report.browser));
const skipped = report.skipped === 0 ? "" : `, ${report.skipped} skipped`;
console.log(`${passed} passed, ${failed} failed${skipped}`);
process.exit(failed > 0 || report.passed + report.failed === 0 ? 1 : 0);
