import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { readFollowStatus } from "../../adapters/directory/followStatusFile.ts";
import { instanceAggregate } from "../../commands/aggregateDefinitions.ts";
import { load } from "../../commands/transact.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import { counted, grouped } from "../../kernel/text/readableNumbers.ts";
import { HOUR_MS, rfc3339, SECOND_MS } from "../../kernel/time.ts";
import type { Config } from "../../service/config/config.ts";
import { whichIsDamaged } from "../../service/status/checks/log/followedCopyChecks.ts";
import { workBehindRequests } from "../../service/threads/threadPriority.ts";
import { requireDirectoryOf } from "../output/requireDirectoryOf.ts";
import { type Command, type Invocation, refuse, UsageError } from "../program/command.ts";
import { withStore } from "../program/openStoreForCommand.ts";
import { parseDuration } from "../program/timeArgument.ts";
import { handleStopSignals } from "../service/stopSignals.ts";
import { type BackupFacts, readBackupFacts, readManifest } from "./backupManifest.ts";
import { ContentFaults } from "./contentFaults.ts";
import { CopyLock } from "./copyLock.ts";
import { type FollowReports, type FollowTask, followLoop } from "./followLoop.ts";
import { type ContentFindings, type FollowRound, keptByAnother, LogFollower } from "./logFollower.ts";
import { madeBackupLines, makeBackup, requireEmbedded } from "./makeBackup.ts";

/** How often to bring the copy up to date. */
const EVERY_MS = { min: SECOND_MS, max: HOUR_MS, default: SECOND_MS } as const;

function everyMsOf({ option }: Invocation): number {
  const text = option("every");
  if (text === undefined) return EVERY_MS.default;
  const everyMs = parseDuration(text);
  if (everyMs !== null && everyMs >= EVERY_MS.min && everyMs <= EVERY_MS.max) return everyMs;
  throw new UsageError(`--every takes a time from 1s to 1h, such as 1s, 30s or 5m, not ${text}`);
}

/** Whether a copy is there to go on with. Refuses what is something else. */
async function isCopyIn(directory: string): Promise<boolean> {
  if (!existsSync(directory) || readdirSync(directory).length === 0) return false;
  // All of it: a restore refuses a list that is damaged.
  const facts = await readManifest(directory, async () => {});
  if (facts.following) return true;
  refuse(`${directory} holds a backup of \`backup create\`, which stays as it is: name another directory`);
}

/** What to print, as JSON and for people. */
interface Printed {
  readonly json: object;
  readonly lines: readonly string[];
}

/** Makes the first copy. A directory that vanished is not made again: it may be on a disk that is not mounted. */
async function firstCopy(config: Config, directory: string): Promise<Printed> {
  requireDirectoryOf(directory);
  if (isMountPoint(directory)) refuse(`${directory} is the root of a disk: name a directory below it`);
  if (!existsSync(directory) && (await wasFollowedIn(config, directory)))
    refuse(
      `the log says that a copy is kept in ${directory}, but there is none: is its disk mounted? To begin another one there, create the empty directory first`,
    );
  const made = await makeBackup(config, { out: directory, withKey: false, following: true });
  const { files, bytes, damaged, content, createdAt } = made;
  return {
    json: { out: directory, at: createdAt, files, bytes, damaged, content },
    lines: madeBackupLines(directory, made, false),
  };
}

/** A directory that is on another file system than the one above it cannot be replaced by a complete copy. */
function isMountPoint(directory: string): boolean {
  return existsSync(directory) && statSync(directory).dev !== statSync(dirname(directory)).dev;
}

function wasFollowedIn(config: Config, place: string): Promise<boolean> {
  return withStore(config, async (store) => {
    const { state } = await load(store, instanceAggregate);
    return state?.copies.some((copy) => copy.following === true && copy.place === place) ?? false;
  });
}

const TASKS: Readonly<Record<FollowTask, string>> = {
  follow: "bringing the copy up to date",
  compare: "comparing the copy with the log and its content",
  events: "comparing the events of the copy with the log's",
  record: "recording the copy in the log",
};

/** Prints changes of the state, one line each. */
function printedReports({ print }: Pick<Invocation, "print">, directory: string): FollowReports {
  let isBehind = true;
  let content = JSON.stringify(new ContentFaults());
  let differing: number | null = null;
  return {
    failing(task, error) {
      print({ state: "failing", task, error }, [`${TASKS[task]} fails, and is tried again: ${error}`]);
      if (task === "follow") isBehind = true;
    },
    working(task) {
      // The next round says that the copy is current.
      if (task !== "follow") print({ state: "working", task }, [`${TASKS[task]} works again`]);
    },
    round({ at, events, copied }) {
      if (!isBehind) return;
      isBehind = false;
      print({ state: "current", out: directory, at, events, copied }, [
        currentLine(directory, { at, events, copied }),
      ]);
    },
    content(findings) {
      const found = JSON.stringify(findings.faults);
      if (found === content && findings.repaired === 0) return;
      const isMended = found !== content && findings.faults.count === 0;
      content = found;
      const lines = [...findingLines(findings), ...(isMended ? ["all content is there again"] : [])];
      print({ state: "content", ...findingsJson(findings) }, lines);
    },
    events(differsAt) {
      if (differsAt === differing) return;
      differing = differsAt;
      const line = differsAt === null ? "that event is the same again" : differingLine(directory, differsAt);
      print({ state: "events", differs_at: differsAt }, [line]);
    },
  };
}

function findingsJson({ faults, repaired }: ContentFindings): object {
  return { ...faults.json(), ...(repaired > 0 ? { repaired } : {}) };
}

function findingLines({ faults, repaired }: ContentFindings): readonly string[] {
  return [...(repaired > 0 ? [repairedLine(repaired)] : []), ...faults.lines(" at the source")];
}

function differingLine(directory: string, position: number): string {
  return `event ${position} is not the same in the copy and in the log: one of them is damaged. ${whichIsDamaged(directory)}`;
}

function repairedLine(repaired: number): string {
  const [was, has] = repaired === 1 ? ["was", "has"] : ["were", "have"];
  return `${counted(repaired, "content file")} ${was} damaged in the copy and ${has} been copied again`;
}

interface Following {
  readonly follower: LogFollower;
  readonly directory: string;
  readonly everyMs: number;
}

/** Follows until a signal ends it, between two pages of events. Another signal ends it at once. */
async function followUntilStopped(invocation: Invocation, { follower, directory, everyMs }: Following) {
  const stopping = new AbortController();
  using _signals = handleStopSignals({ drain: () => stopping.abort() });
  const reports = printedReports(invocation, directory);
  await followLoop(follower, { everyMs, stopping: stopping.signal, reports });
  invocation.print({ state: "ended", out: directory }, [`${directory}: ended; it stays as it is`]);
}

/** Brings the copy up to date once. The exit status is 1 if something is missing or damaged on either side. */
async function followOnce(
  { print }: Invocation,
  { follower, directory }: Following,
  made: Printed | null,
): Promise<number> {
  const never = new AbortController().signal;
  const noPause = async () => {};
  // Events first: the next round then records what differs, even if a damaged page ends the comparison of content.
  const differsAt = await follower.compareEvents(never, noPause);
  const first = await follower.round(never).catch(async (error) => {
    if (!follower.isFull) throw error;
    // A comparison removes what was erased, which may make room.
    await follower.compare(never, noPause);
    return follower.round(never);
  });
  const findings = await follower.compare(never, noPause);
  // What is there is recorded, and the copy of a log that takes no record is current all the same.
  await follower.record();
  const { at, events } = await follower.round(never);
  const copied = events - (first.events - first.copied);
  const differs = differsAt === null ? {} : { differs_at: differsAt };
  const begun = made === null ? {} : { made: made.json };
  const found = { ...findingsJson(findings), ...differs };
  print({ state: "current", out: directory, at, events, copied, ...found, ...begun }, [
    ...(made?.lines ?? []),
    currentLine(directory, { at, events, copied }),
    ...findingLines(findings),
    ...(differsAt === null ? [] : [differingLine(directory, differsAt)]),
  ]);
  return findings.faults.count === 0 && differsAt === null ? 0 : 1;
}

function currentLine(directory: string, { at, events, copied }: FollowRound): string {
  return `${directory}: current as of ${at}, ${counted(copied, "event")} added, ${grouped(events)} in all`;
}

/** Refuses a copy that does not fit the settings: content on S3 is not in a copy. */
function requireSameContent({ content }: Config, facts: BackupFacts): void {
  if (content.kind !== facts.content)
    refuse(
      `the copy was begun with content ${facts.content === "s3" ? "on S3" : "in a directory"}, and CONTENT_URL is now another kind: name another directory`,
    );
}

export const backupFollow: Command = {
  name: "backup follow",
  summary: "Keep a copy of the embedded log and its content, about a second behind",
  description: `Makes a copy in another directory, on another disk or a network volume, and brings it up to date until SIGTERM or Ctrl-C. Works beside a running service, which it neither slows nor stops. A later start goes on with the same copy. \`${POSTLEDGER} backup restore\` brings it back. Content on S3 is not in it: back up the bucket. With --once, exit status 1 also when something is missing or damaged on either side.`,
  options: [
    {
      name: "out",
      value: "<dir>",
      help: "directory of the copy, below one that exists; it is made the first time",
      isRequired: true,
    },
    {
      name: "every",
      value: "<time>",
      help: "how often to bring it up to date, from 1s to 1h (default: 1s)",
    },
    { name: "once", value: null, help: "bring it up to date once, and end (default: go on)" },
  ],
  examples: [
    "postledger backup follow --out /mnt/other/postledger",
    "postledger backup follow --out /mnt/other/postledger --once # From a timer",
  ],
  async run(invocation) {
    const { config, print } = invocation;
    requireEmbedded(config);
    const everyMs = everyMsOf(invocation);
    const isOnce = invocation.option("once") !== undefined;
    if (isOnce && invocation.option("every") !== undefined)
      throw new UsageError("--every and --once exclude each other");
    workBehindRequests();
    const directory = resolve(invocation.required("out"));
    const made = (await isCopyIn(directory)) ? null : await firstCopy(config, directory);
    const facts = await readBackupFacts(directory);
    requireSameContent(config, facts);
    using lock = new CopyLock(directory);
    if (!lock.isHeld()) refuse(keptByAnother(directory));
    const status = await readFollowStatus(directory);
    const rounds = { everyMs: isOnce ? null : everyMs };
    const follower = new LogFollower({ config, directory, facts, status, lock, ...rounds });
    const following = { follower, directory, everyMs };
    // The lock is held until it has ended.
    if (isOnce) return await followOnce(invocation, following, made);
    if (made !== null) print({ state: "copied", ...made.json }, made.lines);
    const behind = follower.behind();
    print({ state: "following", out: directory, at: rfc3339(Date.now()), behind }, [
      `following in ${directory}: ${counted(behind, "event")} behind`,
    ]);
    await followUntilStopped(invocation, following);
    return 0;
  },
};
