import { lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import { ContentMirror } from "../../adapters/directory/contentMirror.ts";
import { type FollowStatus, writeFollowStatus } from "../../adapters/directory/followStatusFile.ts";
import { CopyReader } from "../../adapters/sqlite/follow/copyReader.ts";
import { LogCopy } from "../../adapters/sqlite/follow/logCopy.ts";
import { eventsOfTypes, type LogPage } from "../../adapters/sqlite/follow/logRows.ts";
import { flushSource, SourceLog } from "../../adapters/sqlite/follow/sourceLog.ts";
import { instanceAggregate } from "../../commands/aggregateDefinitions.ts";
import { CONTENT_NAMING_TYPES, contentFolderOf } from "../../commands/attachment/contentNamedBy.ts";
import { isContentFileReferenced } from "../../commands/attachment/isContentReferenced.ts";
import { recordBackupOrExport } from "../../commands/instance/recordBackupOrExport.ts";
import { load } from "../../commands/transact.ts";
import { forEachConcurrently } from "../../kernel/concurrency/forEachConcurrently.ts";
import { sleep } from "../../kernel/concurrency/sleep.ts";
import { folderPath } from "../../kernel/contentPath.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, rfc3339 } from "../../kernel/time.ts";
import { StoreError, type StreamReader } from "../../ports/eventStore.ts";
import { logPath } from "../../service/adapters/openStore.ts";
import type { Config } from "../../service/config/config.ts";
import { isDiskFull, MAKE_ROOM } from "../../service/faults/isDiskFull.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import { withLog } from "../program/openStoreForCommand.ts";
import { BACKUP_CONTENT, BACKUP_LOG, type BackupFacts, shortManifest } from "./backupManifest.ts";
import { missingContent } from "./checkFollowedCopy.ts";
import { ContentFaults } from "./contentFaults.ts";
import type { CopyLock } from "./copyLock.ts";
import { EventComparison } from "./eventComparison.ts";
import { requireContinued } from "./requireContinued.ts";

/** How often the status is written while the log does not change, except with `--once`: then by every round. */
const STATUS_EVERY_MS = MINUTE_MS;
/** How often the log records again that the copy is kept, for the reports of erasures. */
const RECORD_EVERY_MS = DAY_MS;
/** How often a comparison looks at all files, and not only at which messages and uploads have some. */
const WHOLE_EVERY_MS = HOUR_MS;
/** Folders of content that are copied at once for a page of events. */
const FOLDERS_MAX = 8;
/** Files that only the copy has, to be looked up in the log at once. */
const GONE_MAX = 1_000;

interface FollowerOptions {
  readonly config: Config;
  /** The directory of the copy, as an absolute path. */
  readonly directory: string;
  readonly facts: BackupFacts;
  /** How often a round is to begin, in milliseconds; null: once. */
  readonly everyMs: number | null;
  /** What an earlier follower has left, if anything: how far it has compared the copy, and what differs. */
  readonly status: FollowStatus | null;
  readonly lock: CopyLock;
}

/** What a round did. */
export interface FollowRound {
  /** When it began (RFC 3339). */
  readonly at: string;
  /** Events that were added to the copy. */
  readonly copied: number;
  /** Events in the copy. */
  readonly events: number;
}

/** What a comparison found. */
export interface ContentFindings {
  /** What is missing or damaged in the content directory, of which the copy keeps what it has, or unusable in the copy. */
  readonly faults: ContentFaults;
  /** How many files were damaged in the copy, and were copied again. */
  readonly repaired: number;
}

/** What changes with a file, or with what is in it; null if there is none. */
function markOfFile(path: string): string | null {
  const file = lstatSync(path, { throwIfNoEntry: false });
  return file === undefined ? null : `${file.dev} ${file.ino} ${file.size} ${file.mtimeMs}`;
}

export function keptByAnother(directory: string): string {
  return `another \`backup follow\` keeps the copy in ${directory}`;
}

/** Brings a copy of the embedded log and its content up to date. One call at a time. */
export class LogFollower {
  private readonly source: string;
  private readonly log: string;
  /** Null if the content is on S3. */
  private readonly content: ContentMirror | null;
  /** The list of the copy. Its disk may be unmounted, and another copy come to light. */
  private readonly manifest: string | null;
  /** The id of the last event in the copy after the last round; empty before the first. */
  private lastId = "";
  /** The file of the copy's log after the last round, as {@link markOfFile} tells. */
  private lastFile: string | null = null;
  /** When the next comparison of all files is due. */
  private wholeAt = Number.NEGATIVE_INFINITY;
  /** Whether a round has found damaged content since the last comparison began: then the next one looks at all files. */
  private isDamageNew = false;
  private statusAt = Number.NEGATIVE_INFINITY;
  private isFlushMissing = false;
  /** Whether the last round failed because the disk of the copy is full. */
  isFull = false;
  private readonly events: EventComparison;

  constructor(private readonly options: FollowerOptions) {
    const { config, directory, status } = options;
    const { content } = config;
    this.source = logPath(config);
    this.log = join(directory, BACKUP_LOG);
    this.manifest = shortManifest(directory);
    const target = join(directory, BACKUP_CONTENT);
    const requireInPlace = () => this.requireInPlace();
    this.content =
      content.kind === "directory"
        ? new ContentMirror(content.directory, target, requireInPlace, status?.readTo ?? "")
        : null;
    this.events = new EventComparison(status?.comparedTo ?? 0, status?.differsAt ?? null);
  }

  /** How many events the log has that the copy lacks. Refuses a copy that holds what the log lacks. */
  behind(): number {
    using source = SourceLog.open(this.source);
    using copy = LogCopy.open(this.log);
    requireContinued(source, copy, this.options.directory);
    return source.head() - copy.head();
  }

  /**
   * Copies the events that came since the last round, each page after the content that it names. Ends early when
   * `stopping` aborts. Throws `StoreError` and system errors while one side cannot be used: the copy is then as it was
   * after the last page.
   */
  async round(stopping: AbortSignal): Promise<FollowRound> {
    try {
      const at = rfc3339(Date.now());
      const { from, head: events } = await this.catchUp(stopping);
      const isDue = this.options.everyMs === null || performance.now() - this.statusAt >= STATUS_EVERY_MS;
      if ((from < events || isDue) && !stopping.aborted) await this.writeStatus(at, events);
      this.isFull = false;
      return { at, copied: events - from, events };
    } catch (error) {
      this.isFull = isDiskFull(error, this.options.directory);
      throw this.isFull ? this.full() : error;
    }
  }

  private full(): StoreError {
    return new StoreError("unavailable", `the disk of ${this.options.directory} is full: ${MAKE_ROOM}`);
  }

  private async writeStatus(at: string, events: number): Promise<void> {
    const { directory, facts, everyMs } = this.options;
    const { comparedTo, differsAt } = this.events;
    const read = { readTo: this.content?.readTo ?? "", comparedTo };
    const status = { logId: facts.logId, at, events, everyMs, ...read };
    this.requireInPlace();
    await writeFollowStatus(directory, { ...status, ...(differsAt === null ? {} : { differsAt }) });
    this.statusAt = performance.now();
  }

  /**
   * Compares the copy with the log and its content, for what no event tells: blanks what was truncated, copies content
   * that the copy lacks or has damaged, and removes what the log no longer refers to. `pause` is called often.
   */
  async compare(stopping: AbortSignal, pause: () => Promise<void>): Promise<ContentFindings> {
    let isFull = false;
    await this.blankTruncated(stopping, pause).catch((error) => {
      isFull = this.isFull || isDiskFull(error, this.options.directory);
      if (!isFull) throw error;
    });
    const findings = await this.compareContent(stopping, pause);
    // Content was removed all the same, which may have made room for the next time.
    if (isFull) throw this.full();
    return findings;
  }

  /** Compares the next events of the copy with the log's. Returns the position of one that differs, or null. */
  async compareEvents(stopping: AbortSignal, pause: () => Promise<void>): Promise<number | null> {
    const compareNext = () => {
      using source = SourceLog.open(this.source);
      using copy = LogCopy.open(this.log);
      requireContinued(source, copy, this.options.directory);
      return this.events.compareNext(source, copy);
    };
    this.events.begin();
    while (!stopping.aborted && compareNext()) await pause();
    // The next round says so.
    this.statusAt = Number.NEGATIVE_INFINITY;
    return this.events.differsAt;
  }

  private async compareContent(stopping: AbortSignal, pause: () => Promise<void>): Promise<ContentFindings> {
    const faults = new ContentFaults();
    let repaired = 0;
    const { content } = this;
    if (content === null) return { faults, repaired };
    await content.repairStoreFiles(this.options.facts);
    await content.requirePresent();
    const gone: string[] = [];
    // A comparison of all files stays due until one has come to its end.
    if (this.isDamageNew) this.wholeAt = 0;
    this.isDamageNew = false;
    const isWhole = performance.now() >= this.wholeAt;
    for await (const folder of content.compare(isWhole)) {
      faults.add("damaged", folder.damaged);
      repaired += folder.repaired;
      gone.push(...folder.gone);
      if (gone.length >= GONE_MAX)
        faults.add("missing", await this.removeUnreferenced(content, gone.splice(0), stopping));
      if (stopping.aborted) return { faults, repaired };
      await pause();
    }
    faults.add("missing", await this.removeUnreferenced(content, gone, stopping));
    if (content.isFull) throw this.full();
    faults.add("damaged", content.unusable.source);
    faults.add("unusable", content.unusable.copy);
    if (isWhole) await this.addMissing(faults, stopping, pause);
    // What is wrong is looked at again, each time.
    if (faults.count > 0) this.wholeAt = 0;
    else if (isWhole) this.wholeAt = performance.now() + WHOLE_EVERY_MS;
    return { faults, repaired };
  }

  /** Records in the log that the copy is kept, unless it did so less than a day ago. A frozen log records nothing. */
  async record(): Promise<void> {
    const { config, directory: place } = this.options;
    if (!(await this.isRecordDue(place))) return;
    const copy = { kind: "backup", place, following: true } as const;
    await withLog(config, ({ log }) => recordBackupOrExport(log, copy, systemCommandContext("cli")), {
      writes: true,
    });
  }

  private async isRecordDue(place: string): Promise<boolean> {
    using source = SourceLog.open(this.source);
    const { state } = await load(source.streams(), instanceAggregate);
    const last = state?.copies.findLast((copy) => copy.following === true && copy.place === place);
    const isRecent = last !== undefined && Math.abs(Date.now() - last.at) < RECORD_EVERY_MS;
    return state !== null && state.frozenAt === null && !isRecent;
  }

  /** The number of events in the copy, before and after. */
  private async catchUp(stopping: AbortSignal): Promise<{ readonly from: number; readonly head: number }> {
    this.requireInPlace();
    using source = SourceLog.open(this.source);
    const last = source.markAt(source.head());
    // Most rounds find nothing new. Another log of the same length has another last event.
    if (last !== null && last.id !== "" && last.id === this.lastId && this.isLastFile())
      return { from: last.position, head: last.position };
    using copy = LogCopy.open(this.log);
    requireContinued(source, copy, this.options.directory);
    const from = copy.head();
    let head = from;
    while (!stopping.aborted) {
      const page = source.page(head);
      if (page.events.length === 0) break;
      await this.copyNamedContent(page);
      this.flush();
      source.requireInPlace();
      this.requireInPlace();
      copy.append(page);
      head += page.events.length;
      // A signal may have come.
      await sleep(0);
    }
    this.lastId = copy.markAt(head)?.id ?? "";
    this.lastFile = markOfFile(this.log);
    return { from, head };
  }

  /** Whether the copy's log is the file of the last round, and not an older state of it that somebody put there. */
  private isLastFile(): boolean {
    const mark = markOfFile(this.log);
    return mark !== null && mark === this.lastFile;
  }

  private requireInPlace(): void {
    const { directory, lock } = this.options;
    if (this.manifest === null || shortManifest(directory) !== this.manifest)
      throw new StoreError("unavailable", `the copy is not in its place ${directory}: is its disk mounted?`);
    if (!lock.isHeld()) throw new StoreError("unavailable", keptByAnother(directory));
  }

  private flush(): void {
    const wasMissing = this.isFlushMissing;
    this.isFlushMissing = true;
    flushSource(this.source, wasMissing);
    this.isFlushMissing = false;
  }

  /** Content is stored before the event that names it; what is not there by now was erased, or is lost. */
  private async copyNamedContent(page: LogPage): Promise<void> {
    const { content } = this;
    if (content === null) return;
    const naming = eventsOfTypes(page, CONTENT_NAMING_TYPES);
    const folders = naming.flatMap((event) => contentFolderOf(event) ?? []).map(folderPath);
    await forEachConcurrently(folders, FOLDERS_MAX, async (folder) => {
      const damaged = await content.copyFolder(folder);
      // The next comparison reports them.
      if (damaged.length > 0) this.isDamageNew = true;
      return damaged.length > 0;
    });
    // Nothing is missing from a directory that is not in its place.
    if (folders.length > 0) await content.requirePresent();
  }

  private async blankTruncated(stopping: AbortSignal, pause: () => Promise<void>): Promise<void> {
    for (let after = 0; ; await pause()) {
      using source = SourceLog.open(this.source);
      const streams = source.truncatedStreams(after);
      const last = streams.at(-1);
      // What permits a truncation is appended before it: the copy must not have the one without the other.
      if (last !== undefined) await this.round(stopping);
      if (last === undefined || stopping.aborted) return;
      using copy = LogCopy.open(this.log);
      requireContinued(source, copy, this.options.directory);
      source.requireInPlace();
      copy.blank(streams);
      after = last.id;
    }
  }

  /** Adds what the log names and the copy lacks, unless the faults tell that of it or of a folder above it. */
  private async addMissing(faults: ContentFaults, stopping: AbortSignal, pause: () => Promise<void>) {
    // Of those beyond the faults that are kept, a file may count twice.
    const told = new Set(faults.kept.map(({ path }) => path));
    const isToldOf = (path: string): boolean => told.has(path) || (path !== "." && isToldOf(dirname(path)));
    using log = CopyReader.open(this.log);
    // Rounds go on meanwhile.
    log.release();
    for await (const missing of missingContent(join(this.options.directory, BACKUP_CONTENT), log.view())) {
      faults.add(
        "missing",
        missing.filter((path) => !isToldOf(path)),
      );
      if (stopping.aborted) return;
      await pause();
    }
  }

  /** Removes from the copy what the log does not refer to; returns the others. Nobody may be restoring meanwhile. */
  private async removeUnreferenced(
    content: ContentMirror,
    paths: readonly string[],
    stopping: AbortSignal,
  ): Promise<readonly string[]> {
    if (paths.length === 0) return [];
    // So that the copy has the event that permits the removal: it must not lack what its own log refers to. On a full
    // disk it may: nothing else would make room, and what was erased must not stay.
    await this.round(stopping).catch((error) => {
      if (!this.isFull) throw error;
    });
    using source = SourceLog.open(this.source);
    using copy = LogCopy.open(this.log);
    requireContinued(source, copy, this.options.directory);
    const now = Date.now();
    const lost: string[] = [];
    for (const path of paths) {
      const [workspaceId = "", ownerId = "", folderId = "", sha256 = ""] = path.split("/");
      const isReferenced = (log: StreamReader) =>
        isContentFileReferenced(log, { workspaceId, ownerId, folderId }, { sha256, now });
      const isLost = await isReferenced(source.streams());
      source.requireInPlace();
      if (isLost) lost.push(path);
      else if (this.isFull || !(await isReferenced(copy.streams())))
        await copy.exclusively(() => content.remove(path));
    }
    return lost;
  }
}
