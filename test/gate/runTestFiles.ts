import { readFileSync } from "node:fs";
import { join } from "node:path";
import { FILES_ON_A_SERVER_MAX, laneServers, usesSharedServer } from "./laneServers.ts";
import { type Lane, runInLanes } from "./lanes.ts";
import { runTestFile, runTestFilesTogether } from "./runTestFile.ts";
import { hasFailed, runFailedAgain, type SecondRuns } from "./secondRuns.ts";
import { groupTestFiles, type TestGroup } from "./testGroups.ts";
import type { FileRun } from "./testReport.ts";

/** Files that measure what a service does under load, and so run when nothing else does, by their names. */
const ALONE: readonly string[] = ["manyWriters"];
/** Files that kill services under load, each of which takes about one core: they run beside each other only. */
const KILLS: readonly string[] = ["webhookCrash", "crash"];
const KILL_LANES = 2;

/**
 * Files that take long and so begin first, each in a process of its own, by the ends of their paths, the slowest first.
 * One that is wrong costs only time.
 */
const SLOW: readonly string[] = [
  "fuzz",
  "plants",
  "racingAtLimits",
  "eventStore",
  "pages",
  "erasureOnDisk",
  "namesInAnswers",
  "eventStoreDbAway",
  "freezeTwoInstances",
  "commandLine",
  "doctor",
  "endlessSwitching",
  "portableKills",
  "verifyOnEventStoreDb",
  "twoReleases",
  "contentStore",
  "fairMailQueue",
  "eventStoreDbAccess",
  "securedEventStore",
  "mailTransport",
  "dailyLimit",
  "replayBeforeRefusal",
  "mimeMessages",
  "http/erasure/erasure",
  "http/workspace/workspace",
  "revocation",
  "rebuildBeside",
  "live",
  "http/sender/senderVerification",
  "templateDeletion",
  "portableStores",
  "http/apiKey/apiKeys",
  "http/sender/senders",
  "webhookEvents",
  "faults/heldMail",
  "http/template/templates",
  "scheduledVerify",
  "submission",
  "twoInstances",
  "forgedLog",
  "everyOperation",
  "commandLineBeside",
  "startErrors",
  "http/attachment/attachments",
];

/** Each process starts a Chromium, and several of them leave other tests hardly any time: one lane takes them, and begins with them. */
const BROWSER_FOLDER = "test/browser/";

/** Small files that have one process and are on no server. */
const FILES_TOGETHER_MAX = 8;

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
  /** A temporary directory on a disk, for tests of what is there after a kill. */
  readonly diskDirectory: string;
}

function baseName(file: string): string {
  return file.slice(file.lastIndexOf("/") + 1).replace(/\.test\.tsx?$/, "");
}

/** Where a file stands among the slow ones, from 0; -1 where it does not. */
function slownessOf(file: string): number {
  const path = file.replace(/\.test\.tsx?$/, "");
  return SLOW.findIndex((end) => path.endsWith(`/${end}`));
}

/** The slow ones first, then those that need a server, which few lanes have. */
function slowestFirst(groups: readonly TestGroup[], onServer: ReadonlySet<string>): readonly TestGroup[] {
  const rank = ([file = ""]: TestGroup) => {
    if (file.startsWith(BROWSER_FOLDER)) return -1;
    if (slownessOf(file) >= 0) return slownessOf(file);
    return onServer.has(file) ? SLOW.length : SLOW.length + 1;
  };
  return [...groups].sort((a, b) => rank(a) - rank(b));
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

/** The files that may run beside all others, as they share processes. */
function groupsOf(root: string, files: readonly string[], onServer: ReadonlySet<string>) {
  return groupTestFiles(files, {
    textOf: (file) => readFileSync(join(root, file), "utf8"),
    isSingle: (file) => slownessOf(file) >= 0,
    isOnServer: (file) => onServer.has(file),
    filesMax: { onServer: FILES_ON_A_SERVER_MAX, others: FILES_TOGETHER_MAX },
  });
}

/**
 * Runs test files side by side, and those that need the machine for themselves after all others; last those again
 * that failed beside others.
 */
export async function runTestFiles({
  root,
  files,
  lanes,
  env,
  diskDirectory,
}: RunOptions): Promise<SecondRuns> {
  const servers = await laneServers();
  const onServer = new Set(files.filter((file) => usesSharedServer(readFileSync(join(root, file), "utf8"))));
  const optionsIn = async (lane: Lane, group: TestGroup) => {
    const serverEnv = group.some((file) => onServer.has(file)) ? await servers.env(lane, group.length) : {};
    const isOfKills = group.some((file) => KILLS.includes(baseName(file)));
    return { root, env: { ...env, ...serverEnv, ...(isOfKills ? { TMPDIR: diskDirectory } : {}) } };
  };
  const runs: FileRun[] = [];
  const run = async (group: TestGroup, lane: Lane) => {
    const ended = await runTestFilesTogether(group, await optionsIn(lane, group));
    ended.forEach(print);
    runs.push(...ended);
  };
  const named = (names: readonly string[]) => files.filter((file) => names.includes(baseName(file)));
  const separately = [...named(ALONE), ...named(KILLS)];
  const together = files.filter((file) => !separately.includes(file));
  const mayRun = (group: TestGroup, lane: Lane) => {
    const isForLane = lane === lanes - 1 || !group.some((file) => file.startsWith(BROWSER_FOLDER));
    return isForLane && (servers.has(lane) || !group.some((file) => onServer.has(file)));
  };
  await runInLanes(slowestFirst(groupsOf(root, together, onServer), onServer), lanes, run, mayRun);
  // They would take a part of a processor for nothing from what is to be alone.
  await servers.stop();
  const single = (file: string): TestGroup => [file];
  await runInLanes(named(ALONE).map(single), 1, run);
  await servers.stop();
  await runInLanes(named(KILLS).map(single), KILL_LANES, run);
  printSlowest(runs);
  const again = await runFailedAgain(runs, async (file) => {
    const ended = await runTestFile(file, await optionsIn(0, [file]));
    print(ended);
    return ended;
  });
  await servers.stop();
  return again;
}
