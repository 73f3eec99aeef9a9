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
 * Files that take long and so begin first, by the ends of their paths, the slowest first. One that is wrong costs only
 * time.
 */
const SLOW: readonly string[] = [
  "contentDirectoryAway",
  "http/reference/everyOperation",
  "fuzz",
  "pages",
  "eventStore",
  "mailTransport",
  "oneTimeCodes",
  "eventStoreDbAway",
  "logFileAway",
  "racingAtLimits",
  "contentStore",
  "security/bodies",
  "submission",
  "securedEventStore",
  "orderOfAnswers",
  "twoReleases",
  "plants",
  "verifyOnEventStoreDb",
  "runTestFile",
  "http/dashboard/live",
  "replayBeforeRefusal",
  "http/sender/senderVerification",
  "revocation",
  "endlessSwitching",
  "eventStoreDbAccess",
  "http/erasure/erasure",
  "http/template/templates",
  "webhookEvents",
  "erasureOnDisk",
  "http/workspace/workspace",
  "http/apiKey/apiKeys",
  "doctor",
  "verifyEveryColumn",
  "packaging",
  "fileInspector",
  "forgedLog",
  "lostEvents",
  "http/sender/senders",
  "rebuildBeside",
  "dueRetriesSurviveRestart",
  "stalledProcess",
  "fairMailQueue",
  "freezeTwoInstances",
  "templateDeletion",
  "dailyAndStorageLimits",
  "portableKills",
  "commandLine",
  "namesInAnswers",
  "twoInstances",
  "portableStores",
  "dailyLimit",
  "heldMail",
  "scheduledVerify",
  "commandLineBeside",
  "startErrors",
  "http/attachment/attachments",
  "mimeMessages",
];

/** Each process starts a Chromium, and several of them leave other tests hardly any time: one lane takes them, and begins with them. */
const BROWSER_FOLDER = "test/browser/";

/** Files that have one process and are on no server: as many as any folder has that takes a lane for itself. */
const FILES_TOGETHER_MAX = 20;
/** The same of those that take long: the last of them should not be left to a single lane. */
const SLOW_FILES_TOGETHER_MAX = 3;
/** Most of these files wait for processes that they have killed. */
const FAULTS_FOLDER = "test/faults/";

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

/**
 * Those that need a server first, which few lanes have: it ends when its lane has no more of them, because an idle one
 * takes processor time too. Among them, and among the others, the slow ones first.
 */
function inOrder(groups: readonly TestGroup[], onServer: ReadonlySet<string>): readonly TestGroup[] {
  const rank = (group: TestGroup) => {
    const [file = ""] = group;
    if (file.startsWith(BROWSER_FOLDER)) return -1;
    const slowness = Math.min(...group.map(slownessOf).filter((at) => at >= 0), SLOW.length);
    return onServer.has(file) ? slowness : SLOW.length + 1 + slowness;
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
    isSlow: (file) => slownessOf(file) >= 0 || file.startsWith(FAULTS_FOLDER),
    isOnServer: (file) => onServer.has(file),
    filesMax: {
      slow: SLOW_FILES_TOGETHER_MAX,
      onServer: FILES_ON_A_SERVER_MAX,
      others: FILES_TOGETHER_MAX,
    },
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
    const needsServer = group.some((file) => onServer.has(file));
    if (!needsServer) await servers.stop(lane);
    const serverEnv = needsServer ? await servers.env(lane, group.length) : {};
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
  await runInLanes(inOrder(groupsOf(root, together, onServer), onServer), lanes, run, mayRun);
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
