import { closeSync, openSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasFailed } from "./secondRuns.ts";
import { type FileRun, readFileReports, readTestCases, type TestCase } from "./testReport.ts";

/** Longer than anything that a test waits for: a slow machine makes a test slow, not wrong. */
const TEST_MS_MAX = 60_000;
/** Five times what the slowest file takes on two cores. A test that never yields ignores its own time limit. */
const FILE_MS_MAX = 15 * 60_000;
/** Starts the threads of services in a test's process from the build of a whole run. */
const PRELOAD = join(import.meta.dir, "builtThreads.ts");
/** What the helpers of a file that was killed get to notice it and to remove their folders. */
const HELPERS_END_MS = 2_000;

/** How the process of a file, or of several, is run. */
export interface TestFileOptions {
  /** The folder that the files are relative to. */
  readonly root: string;
  /** Set on top of this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly fileMsMax?: number;
}

interface ProcessResult {
  readonly exitCode: number | null;
  readonly signal: string | number | null;
  readonly hasHung: boolean;
  readonly cpuSeconds: number;
}

function fileFaultOf(
  { exitCode, signal, hasHung }: ProcessResult,
  cases: readonly TestCase[],
): string | null {
  if (hasHung) return "did not end in time and was killed";
  if (signal !== null) return `crashed: ended by ${signal}`;
  if (cases.length === 0) return `no test has reported (exit status ${exitCode})`;
  const hasFailedTest = cases.some(({ ending }) => ending === "failed");
  // A file that does not load, or an error between two tests.
  return exitCode === 0 || hasFailedTest ? null : `exit status ${exitCode}, though no test has failed`;
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Nobody of the group is left.
  }
}

async function runToEnd(command: readonly string[], outputFile: string, options: TestFileOptions) {
  // Both streams go to one file, so that their order is kept and nothing waits for a process that outlives the test.
  const output = openSync(outputFile, "a");
  const child = Bun.spawn([...command], {
    cwd: options.root,
    env: { ...process.env, ...options.env },
    stdin: "ignore",
    stdout: output,
    stderr: output,
    detached: true,
  });
  closeSync(output);
  const killWithUs = () => killGroup(child.pid);
  process.on("exit", killWithUs);
  let hasHung = false;
  const bound = setTimeout(() => {
    hasHung = true;
    child.kill("SIGKILL");
  }, options.fileMsMax ?? FILE_MS_MAX);
  await child.exited;
  clearTimeout(bound);
  process.off("exit", killWithUs);
  const cpuSeconds = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6;
  const end: ProcessResult = { exitCode: child.exitCode, signal: child.signalCode, hasHung, cpuSeconds };
  if (end.signal !== null) {
    await Bun.sleep(HELPERS_END_MS);
    killGroup(child.pid);
  }
  return end;
}

/** What a process that ran test files has left. */
interface ProcessRun {
  readonly end: ProcessResult;
  readonly seconds: number;
  readonly junit: string;
  readonly output: string;
}

async function runProcess(files: readonly string[], options: TestFileOptions): Promise<ProcessRun> {
  const directory = await mkdtemp(join(tmpdir(), "test-report-"));
  const junitFile = join(directory, "junit.xml");
  const outputFile = join(directory, "output.txt");
  const reporter = ["--reporter=junit", `--reporter-outfile=${junitFile}`];
  const named = files.map((file) => `./${file}`);
  const command = [
    process.execPath,
    "test",
    `--preload=${PRELOAD}`,
    `--timeout=${TEST_MS_MAX}`,
    ...reporter,
    ...named,
  ];
  const startedAt = performance.now();
  const end = await runToEnd(command, outputFile, options);
  const seconds = (performance.now() - startedAt) / 1_000;
  const junit = await readFile(junitFile, "utf8").catch(() => "");
  const output = await readFile(outputFile, "utf8");
  await rm(directory, { recursive: true, force: true });
  return { end, seconds, junit, output };
}

/** Runs one test file in a process of its own. What it came to is read from Bun's report, never from its output. */
export async function runTestFile(file: string, options: TestFileOptions): Promise<FileRun> {
  const { end, seconds, junit, output } = await runProcess([file], options);
  const cases = readTestCases(junit);
  return { file, seconds, cpuSeconds: end.cpuSeconds, cases, fault: fileFaultOf(end, cases), output };
}

/** What a process came to, file by file; null where it does not say which file was at fault. */
function runsOf(files: readonly string[], run: ProcessRun): readonly FileRun[] | null {
  const { end, seconds, junit, output } = run;
  const reports = readFileReports(junit);
  if (fileFaultOf(end, readTestCases(junit)) !== null) return null;
  const runs = files.map((file) => {
    const { cases, seconds: own } = reports.get(file) ?? { cases: [], seconds: 0 };
    const cpuSeconds = (end.cpuSeconds * own) / seconds;
    const fault = cases.length === 0 ? "no test has reported" : null;
    return { file, seconds: own, cpuSeconds, cases, fault, output: "" };
  });
  // Bun writes some lines of a file before its name, so the output is not taken apart.
  const shown = runs.find(hasFailed) ?? runs[0];
  return runs.map((one) => (one === shown ? { ...one, output } : one));
}

/**
 * Runs test files one after the other in one process, which loads the program once. Where the process crashes, hangs or
 * does not say which file was at fault, each runs again in a process of its own; so do those that failed after another
 * one had, for what that had left behind. A fault that no file has alone is put down to the first.
 */
export async function runTestFilesTogether(
  files: readonly string[],
  options: TestFileOptions,
): Promise<readonly FileRun[]> {
  const [only] = files;
  if (files.length === 1 && only !== undefined) return [await runTestFile(only, options)];
  const together = await runProcess(files, options);
  const first = runsOf(files, together);
  const firstFailed = first?.findIndex(hasFailed) ?? -1;
  const runs: FileRun[] = [];
  for (const [at, file] of files.entries()) {
    const run = first?.[at];
    const isToRun = run === undefined || (hasFailed(run) && at > firstFailed);
    runs.push(isToRun ? await runTestFile(file, options) : run);
  }
  if (first !== null || runs.some(hasFailed)) return runs;
  const fault = `${fileFaultOf(together.end, readTestCases(together.junit))}, in one process with ${files.slice(1).join(", ")}`;
  return runs.map((run, at) => (at === 0 ? { ...run, fault, output: together.output } : run));
}
