import { readFileSync } from "node:fs";
import { join } from "node:path";
import { laneServers, usesSharedServer } from "./laneServers.ts";
import { type Lane, runInLanes } from "./lanes.ts";
import { runTestFile } from "./runTestFile.ts";
import { hasFailed, runFailedAgain, type SecondRuns } from "./secondRuns.ts";
import type { FileRun } from "./testReport.ts";

/** Files that measure what a service does under load or at a kill, and so run when nothing else does, by their names. */
const ALONE: readonly string[] = ["crash", "webhookCrash", "manyWriters"];

/** Files that take long and so begin first, by their names, the slowest first. A name that is wrong costs only time. */
const SLOW: readonly string[] = [
  "fuzz",
  "plants",
  "dailyLimit",
  "commandLine",
  "racingAtLimits",
  "namesInAnswers",
  "sealTwoInstances",
  "freezeTwoInstances",
  "erasureOnDisk",
  "eventStore",
  "doctor",
  "endlessSwitching",
  "verifyOnEventStoreDb",
  "mimeMessages",
  "portableKills",
  "startErrors",
  "revocation",
  "pages",
  "commandLineBeside",
  "portableStores",
  "heldMail",
  "templateDeletion",
  "contentStore",
  "senderVerification",
  "rebuildBeside",
  "everyOperation",
  "erasure",
  "projectionCommands",
  "templates",
  "forgedLog",
  "limits",
  "fairMailQueue",
  "webhooks",
  "eventStoreDbAway",
  "twoInstances",
];

/** Each file starts a Chromium, and several of them leave other tests hardly any time: one lane takes them, and begins with them. */
const BROWSER_FOLDER = "test/browser/";

const SLOWEST_SHOWN = 10;
/** What Bun writes about tests that passed or were left out. */
const BUN_LINES =
  /^(\((pass|skip|todo)\) .*|bun test v.*|\S+\.test\.tsx?:|\s*\d+ (pass|fail|skip|todo|expect\(\) calls)|Ran \d+ tests? across .*|\d+ tests? skipped:|)$/;

interface RunOptions {
  /** The folder that the files' paths are relative to. */
  readonly root: string;
  readonly files: readonly string[];
  readonly lanes: number;
  /** Set on top of this process's environment. */
  readonly env: Readonly<Record<string, string>>;
}

function baseName(file: string): string {
  return file.slice(file.lastIndexOf("/") + 1).replace(/\.test\.tsx?$/, "");
}

function slowestFirst(files: readonly string[]): readonly string[] {
  const rank = (file: string) => {
    if (file.startsWith(BROWSER_FOLDER)) return -1;
    return SLOW.includes(baseName(file)) ? SLOW.indexOf(baseName(file)) : SLOW.length;
  };
  return [...files].sort((a, b) => rank(a) - rank(b));
}

function print(run: FileRun): void {
  const { file, seconds, cpuSeconds, cases, fault, output } = run;
  const lines = output.split("\n").filter((line) => !BUN_LINES.test(line));
  const count = `${cases.length} ${cases.length === 1 ? "test" : "tests"}`;
  const verdict = hasFailed(run) ? "FAILED" : "passed";
  console.log(
    `${verdict} ${file} (${count}, ${seconds.toFixed(1)} s, CPU ${cpuSeconds.toFixed(1)} s)${fault === null ? "" : `: ${fault}`}`,
  );
  if (lines.length > 0) console.log(lines.map((line) => `    ${line}`.trimEnd()).join("\n"));
}

const tenths = (seconds: number) => seconds.toFixed(1).padStart(6);

function printSlowest(runs: readonly FileRun[]): void {
  const slowest = [...runs].sort((a, b) => b.seconds - a.seconds).slice(0, SLOWEST_SHOWN);
  console.log("The slowest files:");
  for (const { file, seconds, cpuSeconds } of slowest)
    console.log(`  ${tenths(seconds)} s, ${tenths(cpuSeconds)} s of a processor: ${file}`);
}

/**
 * Runs test files side by side, and those that need the machine for themselves after all others, one by one; last
 * those again that failed beside others.
 */
export async function runTestFiles({ root, files, lanes, env }: RunOptions): Promise<SecondRuns> {
  const servers = await laneServers();
  const onServer = new Set(files.filter((file) => usesSharedServer(readFileSync(join(root, file), "utf8"))));
  const runs: FileRun[] = [];
  const runIn = async (lane: Lane, file: string) => {
    const serverEnv = onServer.has(file) ? await servers.env(lane) : {};
    const ended = await runTestFile(file, { root, env: { ...env, ...serverEnv } });
    print(ended);
    return ended;
  };
  const run = async (file: string, lane: Lane) => void runs.push(await runIn(lane, file));
  const isAlone = (file: string) => ALONE.includes(baseName(file));
  const beside = slowestFirst(files.filter((file) => !isAlone(file)));
  const isForLane = (file: string, lane: Lane) => lane === lanes - 1 || !file.startsWith(BROWSER_FOLDER);
  const mayRun = (file: string, lane: Lane) =>
    isForLane(file, lane) && (!onServer.has(file) || servers.has(lane));
  await runInLanes(beside, lanes, run, mayRun);
  // They would take a part of a processor for nothing from what is to be alone.
  await servers.stop();
  await runInLanes(files.filter(isAlone), 1, run);
  printSlowest(runs);
  return runFailedAgain(runs, (file) => runIn(0, file));
}
