import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCheckSteps } from "./checkSteps.ts";
import { readTestReport, type TestReport } from "./testReport.ts";

const ROOT = join(import.meta.dir, "../..");

/** Runs every test with its output passed on, and reads how it went from Bun's own report. */
async function runTests(): Promise<TestReport & { readonly exitCode: number }> {
  const directory = await mkdtemp(join(tmpdir(), "test-report-"));
  const outfile = join(directory, "junit.xml");
  const command = [process.execPath, "test", "--reporter=junit", `--reporter-outfile=${outfile}`];
  const child = Bun.spawn(command, { cwd: ROOT, stdin: "ignore", stdout: "inherit", stderr: "inherit" });
  const exitCode = await child.exited;
  const junit = await readFile(outfile, "utf8").catch(() => "");
  await rm(directory, { recursive: true, force: true });
  const files = [...new Bun.Glob("test/**/*.test.ts").scanSync({ cwd: ROOT })].sort();
  return { ...readTestReport(junit, files), exitCode };
}

function eventStoreDbLine({ ran, skipped }: TestReport["eventStoreDb"]): string {
  if (ran === 0) return `EventStoreDB: its half did NOT run (${skipped} tests skipped)`;
  return `EventStoreDB: its half ran (${ran} tests${skipped === 0 ? "" : `, ${skipped} skipped`})`;
}

const steps = await runCheckSteps();
const report = await runTests();

// A run can fail without a failed test: a file that does not load, an error between two tests, a crash.
const brokenRuns = report.exitCode !== 0 && report.failed === 0 && report.silentFiles.length === 0 ? 1 : 0;
const stepsPassed = steps.filter(({ passed }) => passed).length;
const passed = stepsPassed + report.passed;
const failed = steps.length - stepsPassed + report.failed + report.silentFiles.length + brokenRuns;

for (const { name } of steps.filter((step) => !step.passed)) console.log(`failed: check step "${name}"`);
for (const file of report.silentFiles) console.log(`failed: no test of ${file} has reported`);
if (brokenRuns > 0) console.log(`failed: bun test ended with exit status ${report.exitCode}`);
console.log(eventStoreDbLine(report.eventStoreDb));
const skipped = report.skipped === 0 ? "" : `, ${report.skipped} skipped`;
console.log(`${passed} passed, ${failed} failed${skipped}`);
process.exit(failed > 0 || report.passed + report.failed === 0 ? 1 : 0);
