import type { Dependencies } from "../../commands/dependencies.ts";
import { clearErasedEmail } from "../../commands/erasure/eraseEmailContent.ts";
import { type EmailEvent, emailStream } from "../../domain/email/events.ts";
import type { TemplateEvent } from "../../domain/template/events.ts";
import { forEachConcurrently } from "../../kernel/concurrency/forEachConcurrently.ts";
import { idOfStream } from "../../kernel/event/idOfStream.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import type { ContentCleanupCheckpoint } from "../../ports/contentCleanupCheckpoint.ts";
import { LOG_START, type Position, type RecordedEvent } from "../../ports/eventStore.ts";
import { type PeriodicWorker, periodicWorker, type Round } from "../worker/periodicWorker.ts";
import { rowBackoff } from "../worker/rowBackoff.ts";
import { type Tolerate, tolerateFaults } from "../worker/tolerateFaults.ts";
import { type ActingWorker, workerCommandContext } from "../worker/workerCommandContext.ts";

interface ErasedContentCleanupOptions extends Pick<ActingWorker, "worker"> {
  readonly deps: Dependencies;
  readonly checkpoint: ContentCleanupCheckpoint;
  /** The position up to which no event of {@link ERASING_TYPES} follows a position; null if that is not known. */
  readonly noneUntil: (position: Position) => Position | null;
  /** How often to look for new events. */
  readonly intervalMs?: number;
  readonly onTrouble: (error: unknown, stream: string) => void;
}

const INTERVAL_MS = SECOND_MS;
/** How often to save a checkpoint that has only moved past other events. */
const SAVE_MS = 30_000;
/** Failed clearings to keep for retries. With this many, reading waits. */
const FAILED_MAX = 10_000;

/** Streams that are cleared at once: each mostly waits for the disk, or for S3. */
const CLEARINGS_MAX = 8;

/** The event that erased a stream's content, and the reader's position before it. */
interface Erased {
  readonly stream: string;
  readonly revision: number;
  readonly before: Position;
}

const EMAIL = emailStream("");
export const ERASING_TYPES: readonly string[] = [
  "EmailContentErased" satisfies EmailEvent["type"],
  "TemplateDeleted" satisfies TemplateEvent["type"],
];

/**
 * Clears what still holds the content of erased messages and deleted templates. The erasure itself clears at once;
 * this does what a crash, a fault or the end of a delivery left behind, and clears every instance's own memory and
 * outbox. It follows the log from its own checkpoint, which moves after the work. It reads the log only for what the read
 * models' follower has not seen, because that means reading every event.
 */
export function erasedContentCleanup(options: ErasedContentCleanupOptions): PeriodicWorker {
  const { deps, checkpoint, noneUntil, worker, intervalMs = INTERVAL_MS, onTrouble } = options;
  const { store, clock } = deps;
  let position = LOG_START;
  let saved = { position: LOG_START, at: Number.NEGATIVE_INFINITY };
  let isPositioned = false;
  /** By stream, the oldest first. */
  const failed = new Map<string, Erased>();
  const backoff = rowBackoff(clock);

  const clear = ({ stream, revision }: Erased) => {
    if (!stream.startsWith(EMAIL)) return store.truncateBefore(stream, revision);
    return clearErasedEmail(deps, idOfStream(stream), workerCommandContext({ clock, worker }));
  };

  const tryToClear = async (tolerate: Tolerate, one: Erased): Promise<void> => {
    const isCleared = await tolerate(
      () => clear(one),
      (error) => {
        failed.set(one.stream, one);
        backoff.failed(one.stream);
        onTrouble(error, one.stream);
      },
    );
    if (isCleared) failed.delete(one.stream);
  };

  const clearAll = async (events: readonly RecordedEvent[], tolerate: Tolerate, stopping: AbortSignal) => {
    await forEachConcurrently(events, CLEARINGS_MAX, async ({ stream, revision }) => {
      if (!stopping.aborted && !failed.has(stream))
        await tryToClear(tolerate, { stream, revision, before: position });
      return true;
    });
  };

  const retryFailed = async (tolerate: Tolerate) => {
    const resting = new Set(backoff.busy());
    for (const one of [...failed.values()]) if (!resting.has(one.stream)) await tryToClear(tolerate, one);
  };

  const save = (hasWorked: boolean) => {
    const [oldest] = failed.values();
    const reached = oldest?.before ?? position;
    const isDue = hasWorked || clock.monotonicMs() - saved.at >= SAVE_MS;
    if (reached === saved.position || !isDue) return;
    checkpoint.save(reached);
    saved = { position: reached, at: clock.monotonicMs() };
  };

  const round = async ({ stopping, sleep }: Round) => {
    if (!isPositioned) position = await startPosition(options);
    isPositioned = true;
    const tolerate = tolerateFaults(clock);
    await retryFailed(tolerate);
    const passed = noneUntil(position);
    if (passed !== null) {
      position = passed;
      return save(false);
    }
    for await (const batch of store.readAll(position, { types: ERASING_TYPES })) {
      if (failed.size >= FAILED_MAX) return;
      await clearAll(batch.events, tolerate, stopping);
      if (stopping.aborted) return;
      position = batch.position;
      save(batch.events.length > 0);
      // A log in memory never waits for I/O, so yield to the event loop here.
      await sleep(0);
      if (stopping.aborted) return;
    }
  };

  return periodicWorker({ round, intervalMs, firstDelayMs: 0, onTrouble: (error) => onTrouble(error, "") });
}

/** Where to begin. A log restored from an older copy may end before the checkpoint. */
async function startPosition({ deps, checkpoint }: ErasedContentCleanupOptions): Promise<Position> {
  const position = checkpoint.load();
  return position > (await deps.store.head()) ? LOG_START : position;
}
