import { isContentReferenced } from "../../commands/attachment/isContentReferenced.ts";
import { unlessAborted } from "../../kernel/concurrency/unlessAborted.ts";
import { MINUTE_MS } from "../../kernel/time.ts";
import type { ContentFolder, ContentStore, FoundFolder } from "../../ports/contentStore.ts";
import { type EventStore, StoreError } from "../../ports/eventStore.ts";
import { type PeriodicWorker, periodicWorker } from "../worker/periodicWorker.ts";

export interface OrphanedContentSweeperOptions {
  readonly store: EventStore;
  readonly content: ContentStore;
  /** Whether the log is a copy whose delivery was not resumed yet: the original may still use the content. */
  readonly isHeld: () => Promise<boolean>;
  /** Leaves younger folders alone; by default {@link CONTENT_SWEEP_AGE_MS}. */
  readonly ageMs?: number;
  readonly intervalMs: number;
  /** In [0, 1). */
  readonly random: () => number;
  readonly onSwept: (report: SweepReport) => void;
  /** `folder` is the one that could not be checked, or null when the round ended early. */
  readonly onTrouble: (error: unknown, folder: ContentFolder | null) => void;
}

/** The result of one round, in folders. */
interface SweepReport {
  /** Old enough to look up in the log. */
  readonly checked: number;
  readonly removed: number;
  /** Whether the round reached the last folder. */
  readonly isComplete: boolean;
}

export interface OrphanedContentSweeper extends PeriodicWorker {
  /** One round: a bounded number of folders from where the last one stopped. Throws `StoreError`. */
  sweep(): Promise<SweepReport>;
}

/**
 * The sweeper removes a content folder that no stream refers to once it is older than this. Only one request writes a
 * folder, and it starts the append that refers to it within ten minutes or never (`contentAppendDeadline`). The rest is
 * room for the append itself, which has its own time-out.
 */
export const CONTENT_SWEEP_AGE_MS = 60 * MINUTE_MS;

/** Folders that one round looks at, and how many of them it looks up in the log. */
const SEEN_MAX = 100_000;
const CHECKED_MAX = 5_000;

/**
 * Removes content that no stream names: left by requests that died or lost a race between storing and appending, and
 * by erased messages. Every instance does this, and remembers only how far it has come.
 *
 * There is no race with a send, by construction. Each folder is written by a single request, under a fresh id, and a
 * retry has its own folder. A request appends within ten minutes of its first byte or refuses to
 * (`contentAppendDeadline`). So a folder that is older than an hour and not named will never be named, and a named one
 * stays named until it is erased for good. Ages come from the content store's own clock, not ours. While the log is a
 * copy that is held, nothing is removed: the log that it was copied from may share the content store, and refer to more.
 */
export function orphanedContentSweeper(options: OrphanedContentSweeperOptions): OrphanedContentSweeper {
  const { store, content, isHeld, ageMs = CONTENT_SWEEP_AGE_MS, intervalMs, random } = options;
  const { onSwept, onTrouble } = options;
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

  /** Returns whether it was removed. A folder that cannot be checked stays. */
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

  const sweepUnlessHeld = async (stopping: AbortSignal): Promise<SweepReport> =>
    (await isHeld()) ? { checked: 0, removed: 0, isComplete: false } : sweep(stopping);

  const worker = periodicWorker({
    // It appends nothing, so a stop can leave it with a call of the content store that hangs.
    round: async ({ stopping }) => onSwept(await unlessAborted(stopping, sweepUnlessHeld(stopping))),
    intervalMs,
    // Instances that start together should not sweep together.
    firstDelayMs: intervalMs * random(),
    onTrouble: (error) => onTrouble(error, null),
  });
  return { ...worker, sweep: () => sweepUnlessHeld(new AbortController().signal) };
}
