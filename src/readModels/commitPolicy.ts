/** The most events in one transaction: more gains no speed and only makes a crash costlier. */
export const TRANSACTION_EVENTS_MAX = 2_000;
/** The same for reading to the head: with fewer commits, a page that changes again and again is written out once. */
export const READING_TRANSACTION_EVENTS_MAX = 10_000;
/** A projection with nothing to apply still saves its checkpoint after this many events of other types. */
const CHECKPOINT_LAG_EVENTS_MAX = 20_000;
/** Or after this time. */
const CHECKPOINT_LAG_MS_MAX = 1_000;

/** How far the saved checkpoint of a projection is behind what was applied. */
interface CheckpointLag {
  readonly checkpointAt: number;
  readonly eventsSinceCheckpoint: number;
  /** Whether rows have changed since. */
  readonly isWriting: boolean;
}

/** Whether to commit: rows have changed, or the saved checkpoint lags too far behind. */
export function isCommitDue({ checkpointAt, eventsSinceCheckpoint, isWriting }: CheckpointLag): boolean {
  return (
    isWriting ||
    eventsSinceCheckpoint >= CHECKPOINT_LAG_EVENTS_MAX ||
    performance.now() - checkpointAt >= CHECKPOINT_LAG_MS_MAX
  );
}
