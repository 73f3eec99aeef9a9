import { existsSync } from "node:fs";
import { join } from "node:path";
import { ContentCopy, type FileCopied } from "../../adapters/directory/contentCopy.ts";
import { writeFollowStatus } from "../../adapters/directory/followStatusFile.ts";
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
import { DAY_MS, MINUTE_MS, rfc3339 } from "../../kernel/time.ts";
import { logPath } from "../../service/adapters/openStore.ts";
import type { Config } from "../../service/config/config.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import { withLog } from "../program/openStoreForCommand.ts";
import { BACKUP_CONTENT, BACKUP_LOG, type BackupFacts } from "./backupManifest.ts";
import { requireContinued } from "./requireContinued.ts";

/** How often the status is written while the log does not change, except with `--once`: then by every round. */
const STATUS_EVERY_MS = MINUTE_MS;
/** How often the log records again that the copy is kept, for the reports of erasures. */
const RECORD_EVERY_MS = DAY_MS;
/** Folders of content that are copied at once for a page of events. */
const FOLDERS_MAX = 8;

interface FollowerOptions {
  readonly config: Config;
  /** The directory of the copy, as an absolute path. */
  readonly directory: string;
  readonly facts: BackupFacts;
  /** How often a round is to begin, in milliseconds; null: once. */
  readonly everyMs: number | null;
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

/** What a comparison found in the content directory. */
export interface ContentFindings {
  /** Files that the log names and the directory lacks. The copy keeps those that it has. */
  readonly lost: readonly string[];
  /** Files with other bytes than their names say; they are not copied. */
  readonly damaged: readonly string[];
}

/** Brings a copy of the embedded log and its content up to date. One call at a time. */
export class LogFollower {
  private readonly source: string;
  private readonly log: string;
  /** Null if the content is on S3. */
  private readonly content: ContentCopy | null;
  /** The number of events in the copy after the last round; null before the first. */
  private events: number | null = null;
  private statusAt = Number.NEGATIVE_INFINITY;
  private isFlushMissing = false;

  constructor(private readonly options: FollowerOptions) {
    const { config, directory } = options;
    const { content } = config;
    this.source = logPath(config);
    this.log = join(directory, BACKUP_LOG);
    this.content =
      content.kind === "directory"
        ? new ContentCopy(content.directory, join(directory, BACKUP_CONTENT))
        : null;
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
    const at = rfc3339(Date.now());
    const { from, head: events } = await this.catchUp(stopping);
    this.events = events;
    const isDue = this.options.everyMs === null || performance.now() - this.statusAt >= STATUS_EVERY_MS;
    if ((from < events || isDue) && !stopping.aborted) await this.writeStatus({ at, events });
    return { at, copied: events - from, events };
  }

  /**
   * Compares the whole copy with the log and its content, for what no event tells: blanks what was truncated, copies
   * content that the copy lacks, and removes what the log no longer refers to. `pause` is called often.
   */
  async compare(stopping: AbortSignal, pause: () => Promise<void>): Promise<ContentFindings> {
    await this.blankTruncated(stopping, pause);
    const [lost, damaged]: [string[], string[]] = [[], []];
    if (this.content === null) return { lost, damaged };
    await this.content.requirePresent();
    for await (const files of this.content.copyMissing()) {
      if (stopping.aborted) break;
      damaged.push(...damagedOf(files));
      await pause();
    }
    for await (const paths of this.content.missingInSource()) {
      if (stopping.aborted) break;
      if (paths.length > 0) lost.push(...(await this.removeUnreferenced(this.content, paths)));
      await pause();
    }
    return { lost, damaged };
  }

  /** Records in the log that the copy is kept, unless it did so less than a day ago. A frozen log records nothing. */
  async record(): Promise<void> {
    const { config, directory: place } = this.options;
    if (!(await this.isRecordDue(place))) return;
    const copy = { kind: "backup", place, following: true } as const;
    await withLog(config, ({ log }) => recordBackupOrExport(log, copy, systemCommandContext("cli")));
  }

  private async isRecordDue(place: string): Promise<boolean> {
    using source = SourceLog.open(this.source);
    const { state } = await load(source.streams(), instanceAggregate);
    const last = state?.copies.findLast((copy) => copy.following === true && copy.place === place);
    const isRecent = last !== undefined && Math.abs(Date.now() - last.at) < RECORD_EVERY_MS;
    return state !== null && state.frozenAt === null && !isRecent;
  }

  private async writeStatus({ at, events }: { readonly at: string; readonly events: number }): Promise<void> {
    const { directory, facts, everyMs } = this.options;
    await writeFollowStatus(directory, { logId: facts.logId, at, events, everyMs });
    this.statusAt = performance.now();
  }

  /** The number of events in the copy, before and after. */
  private async catchUp(stopping: AbortSignal): Promise<{ readonly from: number; readonly head: number }> {
    using source = SourceLog.open(this.source);
    // Most rounds find nothing new. The directory may have gone away all the same.
    if (source.head() === this.events && existsSync(this.log))
      return { from: this.events, head: this.events };
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
      copy.append(page);
      head += page.events.length;
      // A signal may have come.
      await sleep(0);
    }
    return { from, head };
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
    // Most messages have none. Nothing is missing from a directory that is not in its place.
    const found = folders.filter((folder) => content.has(folder));
    if (folders.length > 0) await content.requirePresent();
    await forEachConcurrently(found, FOLDERS_MAX, async (folder) => {
      const copied = await content.copyFolder(folder);
      return copied.length > 0;
    });
  }

  private async blankTruncated(stopping: AbortSignal, pause: () => Promise<void>): Promise<void> {
    for (let id = 0; !stopping.aborted; ) {
      const last = await this.blankPage(id, stopping);
      if (last === null) return;
      id = last;
      await pause();
    }
  }

  /** The id of the last stream of the page after `id`; null after the last page, or if `stopping` aborts. */
  private async blankPage(id: number, stopping: AbortSignal): Promise<number | null> {
    using source = SourceLog.open(this.source);
    const streams = source.truncatedStreams(id);
    const last = streams.at(-1);
    if (last === undefined) return null;
    // What permits a truncation is appended before it: the copy must not have the one without the other.
    await this.round(stopping);
    if (stopping.aborted) return null;
    using copy = LogCopy.open(this.log);
    requireContinued(source, copy, this.options.directory);
    source.requireInPlace();
    copy.blank(streams);
    return last.id;
  }

  /** Removes from the copy what the log does not refer to; returns the others. Nobody may be restoring meanwhile. */
  private async removeUnreferenced(
    content: ContentCopy,
    paths: readonly string[],
  ): Promise<readonly string[]> {
    using source = SourceLog.open(this.source);
    using copy = LogCopy.open(this.log);
    requireContinued(source, copy, this.options.directory);
    const now = Date.now();
    const lost: string[] = [];
    for (const path of paths) {
      const [workspaceId = "", ownerId = "", folderId = "", sha256 = ""] = path.split("/");
      const folder = { workspaceId, ownerId, folderId };
      const isReferenced = await isContentFileReferenced(source.streams(), folder, { sha256, now });
      source.requireInPlace();
      if (isReferenced) lost.push(path);
      else await copy.exclusively(() => content.remove(path));
    }
    return lost;
  }
}

function damagedOf(files: readonly FileCopied[]): readonly string[] {
  return files.filter(({ outcome }) => outcome === "damaged").map(({ path }) => path);
}
