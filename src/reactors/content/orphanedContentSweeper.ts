import { isContentReferenced } from "../../commands/attachment/isContentReferenced.ts";
import { CONTENT_SWEEP_AGE_MS } from "../../commands/storage/contentGracePeriod.ts";
import type { ContentFolder, ContentStore, FoundFolder } from "../../ports/contentStore.ts";
import { type EventStore, StoreError } from "../../ports/eventStore.ts";
import { type PeriodicWorker, periodicWorker } from "../worker/periodicWorker.ts";

export interface OrphanedContentSweeperOptions {
  readonly store: EventStore;
  readonly content: ContentStore;
  /** Younger folders are left alone; without it, those younger than {@link CONTENT_SWEEP_AGE_MS}. */
  readonly ageMs?: number;
  readonly intervalMs: number;
  /** In [0, 1). */
  readonly random: () => number;
  readonly onSwept: (report: SweepReport) => void;
  /** A folder that could not be looked at, or null for a round that ended early. */
  readonly onTrouble: (error: unknown, folder: ContentFolder | null) => void;
}

/** What one round came to, in folders. */
export interface SweepReport {
  /** Old enough to be asked for in the log. */
  readonly checked: number;
  readonly removed: number;
  /** Whether the round came to the end of all folders. */
  readonly isComplete: boolean;
}

export interface OrphanedContentSweeper extends PeriodicWorker {
  /** One round: from where the last one stopped, a bounded number of folders. Throws `StoreError`. */
  sweep(): Promise<SweepReport>;
}

/** Folders that one round looks at, and those of them that it asks the log about. */
const SEEN_MAX = 100_000;
const CHECKED_MAX = 5_000;

/**
 * Removes content that no stream names: of requests that died or lost a race between storing and appending, and
 * of messages that were erased. Every instance does so, and remembers nothing but how far it has come.
 *
 * There is no race with a send, by construction. A folder is written by one request only, under a fresh id, and a
 * retry has a folder of its own. A request appends within ten minutes of its first byte or refuses to
 * (`contentDeadline`). So what is older than an hour and not named never will be, and what is named stays named
 * until it is erased, for good. Ages go by the content store's own clock, not by ours.
 */
export function orphanedContentSweeper(options: OrphanedContentSweeperOptions): OrphanedContentSweeper {
  const { store, content, ageMs = CONTENT_SWEEP_AGE_MS, intervalMs, random, onSwept, onTrouble } = options;
  let walk: AsyncIterator<FoundFolder> | null = null;

  const nextFolder = async (): Promise<FoundFolder | null> => {
    walk ??= content.folders()[Symbol.asyncIterator]();
    try {
      const { done, value } = await walk.next();
      if (!done) return value;
    } catch (error) {
      walk = null;
      throw error;
    }
    walk = null;
    return null;
  };

  /** Whether it was removed. What cannot be understood stays. */
  const sweepFolder = async (folder: FoundFolder): Promise<boolean> => {
    try {
      if (!(await isContentReferenced(store, folder))) {
        await content.removeFolder(folder);
        return true;
      }
      if (folder.hasTemporary) await content.removeTemporary(folder);
    } catch (error) {
      if (error instanceof StoreError) throw error;
      onTrouble(error, folder);
    }
    return false;
  };

  const sweep = async (stopping: AbortSignal): Promise<SweepReport> => {
    const oldBefore = (await content.now()) - ageMs;
    let [checked, removed] = [0, 0];
    const report = (isComplete: boolean) => ({ checked, removed, isComplete });
    for (let seen = 0; seen < SEEN_MAX && checked < CHECKED_MAX; seen += 1) {
      if (stopping.aborted) return report(false);
      const folder = await nextFolder();
      if (folder === null) return report(true);
      if (folder.modifiedAt >= oldBefore) continue;
      checked += 1;
      if (await sweepFolder(folder)) removed += 1;
    }
    return report(false);
  };

  const worker = periodicWorker({
    round: async ({ stopping }) => onSwept(await sweep(stopping)),
    intervalMs,
    // Instances that start together shall not sweep together.
    firstDelayMs: intervalMs * random(),
    onTrouble: (error) => onTrouble(error, null),
  });
  return { ...worker, sweep: () => sweep(new AbortController().signal) };
}
