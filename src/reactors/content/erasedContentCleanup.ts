import type { Services } from "../../commands/dependencies.ts";
import { clearErasedEmail } from "../../commands/erasure/eraseEmailContent.ts";
import { clearDeletedTemplate } from "../../commands/template/deleteTemplate.ts";
import { type EmailEvent, emailStream } from "../../domain/email/events.ts";
import type { TemplateEvent } from "../../domain/template/events.ts";
import { newRequestId } from "../../kernel/ids.ts";
import type { Checkpoint } from "../../ports/checkpoint.ts";
import { LOG_START, type Position, type RecordedEvent, StoreError } from "../../ports/eventStore.ts";
import { pauses } from "../worker/abortableSleep.ts";

export interface ErasedContentOptions {
  readonly services: Services;
  readonly checkpoint: Checkpoint;
  /** Names this instance in the events that it writes. */
  readonly actor: string;
  /** How often it looks for news of the log. */
  readonly lookMs?: number;
  readonly onTrouble: (error: unknown, stream: string) => void;
}

/** Goes on until it is stopped. */
export interface ErasedContent {
  start(): void;
  /** Settles after the message that it is at. */
  stop(): Promise<void>;
}

const LOOK_MS = 1_000;
/** After a fault of a store, which the next message would meet as well. */
const FAULT_PAUSE_MS = 5_000;
/** A checkpoint that only moves past events of others is written this often. */
const SAVE_MS = 30_000;
/** Messages that could not be cleared and are tried again; with more of them the reading waits. */
const LEFT_MAX = 1_000;

/** What was let go of, by which event of which stream, and where the reader stood before it. */
interface Left {
  readonly stream: string;
  readonly revision: number;
  readonly before: Position;
}

const EMAIL = emailStream("");
const LETS_GO = [
  "EmailContentErased" satisfies EmailEvent["type"],
  "TemplateDeleted" satisfies TemplateEvent["type"],
];

/**
 * Clears what holds the content of messages that were erased, and templates that were deleted: whoever does that
 * clears at once, and this does what a
 * crash, a fault or the end of a delivery has left, on every instance for its own memory and outbox too. It goes by
 * the log, from a checkpoint of its own, which moves after the work.
 */
export function erasedContent(options: ErasedContentOptions): ErasedContent {
  const { services, checkpoint, actor, lookMs = LOOK_MS, onTrouble } = options;
  const { store, clock } = services;
  const stopping = new AbortController();
  const { pause } = pauses(stopping.signal);
  let position = LOG_START;
  let saved = { position: LOG_START, at: Number.NEGATIVE_INFINITY };
  let left: readonly Left[] = [];
  let running: Promise<void> = Promise.resolve();

  const clear = ({ stream, revision }: Left) => {
    if (!stream.startsWith(EMAIL)) return clearDeletedTemplate(store, stream, revision);
    const context = { at: clock.now(), correlationId: newRequestId(), actor };
    return clearErasedEmail(services, stream.slice(EMAIL.length), context);
  };

  /** What is wrong with one message must not keep the others waiting; a store that is away ends the round. */
  const tryToClear = async (one: Left): Promise<boolean> => {
    try {
      await clear(one);
      return true;
    } catch (error) {
      if (error instanceof StoreError) throw error;
      onTrouble(error, one.stream);
      return false;
    }
  };

  const clearAll = async (events: readonly RecordedEvent[], before: Position) => {
    for (const { stream, revision } of events) {
      if (stopping.signal.aborted) return false;
      const one = { stream, revision, before };
      if (!(await tryToClear(one))) left = [...left, one];
    }
    return true;
  };

  const retryLeft = async () => {
    const failed: Left[] = [];
    for (const one of left) if (!(await tryToClear(one))) failed.push(one);
    left = failed;
  };

  const save = (hasWorked: boolean) => {
    const reached = left[0]?.before ?? position;
    const isDue = hasWorked || clock.monotonicMs() - saved.at >= SAVE_MS;
    if (reached === saved.position || !isDue) return;
    checkpoint.save(reached);
    saved = { position: reached, at: clock.monotonicMs() };
  };

  const look = async () => {
    await retryLeft();
    for await (const batch of store.readAll(position, { types: LETS_GO })) {
      if (left.length >= LEFT_MAX || !(await clearAll(batch.events, position))) return;
      position = batch.position;
      save(batch.events.length > 0);
      // A log that is read from memory would let nobody else have a turn.
      await pause(0);
      if (stopping.signal.aborted) return;
    }
  };

  const run = async () => {
    let isPlaced = false;
    while (!stopping.signal.aborted) {
      try {
        if (!isPlaced) position = await placeOf(options);
        isPlaced = true;
        await look();
        await pause(lookMs);
      } catch (error) {
        onTrouble(error, "");
        await pause(FAULT_PAUSE_MS);
      }
    }
  };

  return {
    start() {
      running = run();
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/** Where to begin: a log that was restored from an older copy may end before the checkpoint. */
async function placeOf({ services, checkpoint }: ErasedContentOptions): Promise<Position> {
  const position = checkpoint.load();
  return position > (await services.store.head()) ? LOG_START : position;
}
