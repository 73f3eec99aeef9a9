import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { ALLOCATOR_SETTINGS } from "../../src/service/restartWithEngineSettings.ts";
import { workBehindRequests } from "../../src/service/threads/threadPriority.ts";
import { contractTable, coverageFaults, webhookFaults } from "./answerCoverage.ts";
import { ANSWERS_FILE_VARIABLE, readAnswers, type SeenLine } from "./answerLog.ts";
import { buildProgram, buildThreads, PROGRAM_VARIABLE } from "./buildProgram.ts";
import { THREADS_VARIABLE } from "./builtThreads.ts";
import { runCheckSteps } from "./checkSteps.ts";
import { runTestFiles } from "./runTestFiles.ts";
import { makeTemporaryDirectory } from "./temporaryDirectory.ts";
import { sumUp, type TestReport } from "./testReport.ts";

const ROOT = join(import.meta.dir, "../..");
/** Most tests wait for timers, processes and disks, so there are more lanes than cores. */
const LANES_MORE_THAN_CORES = 2;

/**
 * Settings of the .NET runtime for EventStoreDB servers, which live for seconds here: optimizing takes them more
 * processor time than it saves, and so do write protection of compiled code and spinning before a thread sleeps.
 */
const SHORT_LIVED_SERVERS = {
  DOTNET_TieredPGO: "0",
  DOTNET_gcConcurrent: "0",
  DOTNET_EnableDiagnostics: "0",
  DOTNET_EnableWriteXorExecute: "0",
  DOTNET_ThreadPool_UnfairSemaphoreSpinLimit: "0",
} as const;

/**
 * Settings of Bun for the tests and what they start, which also live for seconds: what it compiles a second and a third
 * time has to have run ten times as often as by default. Memory is given back as in a service, which saves a quarter of
 * the processor time; but the heap may grow, for tests have more in it.
 */
const SHORT_LIVED_PROCESSES = {
  ...ALLOCATOR_SETTINGS,
  BUN_JSC_useFTLJIT: "0",
  BUN_JSC_thresholdForJITAfterWarmUp: "3000",
  BUN_JSC_thresholdForOptimizeAfterWarmUp: "10000",
  BUN_JSC_thresholdForOptimizeAfterLongWarmUp: "10000",
  BUN_JSC_thresholdForOptimizeSoon: "10000",
} as const;

/** Whether a test has seen an answer of a service on EventStoreDB: there are none without a server. */
function hasEventStoreDb(answers: readonly SeenLine[]): boolean {
  return answers.some(({ store }) => store === "EventStoreDB");
}

function eventStoreDbLine(
  { ran, skipped }: TestReport["eventStoreDb"],
  answers: readonly SeenLine[],
): string {
  if (!hasEventStoreDb(answers)) return `EventStoreDB: its half did NOT run (${skipped} tests skipped)`;
  return `EventStoreDB: its half ran (${ran} tests${skipped === 0 ? "" : `, ${skipped} skipped`})`;
}

function browserLine({ ran, skipped }: TestReport["browser"]): string {
  if (ran === 0) return `Browser: its tests did NOT run (${skipped} skipped): no Chromium, see CHROMIUM_PATH`;
  return `Browser: its tests ran (${ran}${skipped === 0 ? "" : `, ${skipped} skipped`})`;
}

/** Prints who provoked what, and answers what the contract or the document promises and no test has seen. */
function answerFaults(answers: readonly SeenLine[]): readonly string[] {
  const stores = hasEventStoreDb(answers) ? (["SQLite", "EventStoreDB"] as const) : (["SQLite"] as const);
  const { lines, faults } = contractTable(answers, stores);
  console.log(["The contract's error codes, and the request that provoked each:", ...lines].join("\n"));
  return [...faults, ...coverageFaults(answers), ...webhookFaults(answers, stores)];
}

/** The tests run in process groups of their own, which end with us. */
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(1));

// All processes of a run inherit this. Else read models, which have it, would starve while tests keep all cores busy.
workBehindRequests();
const steps = await runCheckSteps();
const directory = await mkdtemp(join(tmpdir(), "test-answers-"));
const answersFile = join(directory, "answers.jsonl");
await writeFile(answersFile, "");
const files = [...new Bun.Glob("test/**/*.test.{ts,tsx}").scanSync({ cwd: ROOT })].sort();
const lanes = availableParallelism() + LANES_MORE_THAN_CORES;
const program = await buildProgram(ROOT, directory);
const env = {
  ...SHORT_LIVED_PROCESSES,
  [ANSWERS_FILE_VARIABLE]: answersFile,
  [PROGRAM_VARIABLE]: program,
  [THREADS_VARIABLE]: await buildThreads(ROOT, directory),
};
const diskDirectory = tmpdir();
// Servers that files share are started by this process, others by those that it starts.
Object.assign(process.env, SHORT_LIVED_SERVERS, { TMPDIR: makeTemporaryDirectory() });
const { runs, unsteady } = await runTestFiles({ root: ROOT, files, lanes, env, diskDirectory });
const report = sumUp(runs);
const answers = readAnswers(answersFile);
const unseen = answerFaults(answers);
await rm(directory, { recursive: true, force: true });

const failures = [
  ...steps.filter((step) => !step.passed).map(({ name }) => `check step "${name}"`),
  ...report.failures,
  ...unseen,
];
const passed = steps.filter((step) => step.passed).length + report.passed;
for (const failure of sumUp(unsteady).failures)
  console.log(`UNSTEADY, to be mended: failed beside other files, passed alone: ${failure}`);
for (const failure of failures) console.log(`failed: ${failure}`);
console.log(eventStoreDbLine(report.eventStoreDb, answers));
console.log(browserLine(report.browser));
const skipped = report.skipped === 0 ? "" : `, ${report.skipped} skipped`;
console.log(`${passed} passed, ${failures.length} failed${skipped}`);
process.exit(failures.length > 0 || runs.length === 0 ? 1 : 0);
