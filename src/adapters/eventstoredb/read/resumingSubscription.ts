import type { EventStoreDBClient } from "@eventstore/db-client";
import { sleep } from "../../../kernel/concurrency/sleep.ts";
import { unlessAborted } from "../../../kernel/concurrency/unlessAborted.ts";
import type { LogBatch } from "../../../ports/eventStore.ts";
import { isTransient, unavailable } from "../clientErrors.ts";
import { AttemptTimedOutError } from "../deadline.ts";
import { AllSubscription, type AllSubscriptionOptions, type LogReading } from "./allSubscription.ts";
import { batchesOf, catchUpOptions } from "./readLog.ts";
import { readLogHeadOnce } from "./readLogHead.ts";

/** How many records may pass at the head without a notice: one for each would double what the server sends. */
const LIVE_WINDOW = 32;
/** After this much silence at the head, in ms, check whether it has moved past records that did not match. */
const QUIET_MS = 250;
/** The pauses between two subscriptions, in ms. */
const RESUBSCRIBE_MS_MIN = 50;
const RESUBSCRIBE_MS_MAX = 2_000;

/**
 * The log without end. The vendor's subscription dies with its server and never resumes, so we start a new one after
 * the last yielded batch, for as long as the reader wants. Throws `unavailable` only for failures that no retry would
 * fix.
 */
export async function* resumingSubscription(
  client: EventStoreDBClient,
  reading: LogReading,
  idleMs: number,
): AsyncGenerator<LogBatch> {
  const { signal } = reading;
  let last: LogBatch = { events: [], position: reading.from, caughtUp: false };
  let waitMs = RESUBSCRIBE_MS_MIN;
  while (!signal.aborted) {
    try {
      for await (const batch of catchUpThenFollow(client, { ...reading, from: last.position }, idleMs)) {
        waitMs = RESUBSCRIBE_MS_MIN;
        const hasProgressed = isNews(batch, last);
        last = batch;
        if (hasProgressed) yield batch;
      }
    } catch (error) {
      if (!signal.aborted && !isTransient(error)) throw unavailable("cannot follow the log", error);
    }
    await sleep(waitMs, signal);
    waitMs = Math.min(RESUBSCRIBE_MS_MAX, waitMs * 2);
  }
}

function isNews(batch: LogBatch, last: LogBatch): boolean {
  return batch.events.length > 0 || batch.position > last.position || (batch.caughtUp && !last.caughtUp);
}

/** Reads in large pages until the server says that we have caught up, then record by record. */
async function* catchUpThenFollow(
  client: EventStoreDBClient,
  reading: LogReading,
  idleMs: number,
): AsyncGenerator<LogBatch> {
  let { from } = reading;
  const head = await unlessAborted(reading.signal, readLogHeadOnce(client, idleMs));
  for await (const batch of batchesOf(client, catchUpOptions(reading, head), () => idleMs)) {
    from = batch.position;
    yield batch;
    if (batch.caughtUp) break;
  }
  yield* liveBatches(client, { ...reading, from, searchWindow: LIVE_WINDOW }, idleMs);
}

/**
 * Batches at the head. Ends when it is quiet and the head is past the last position that the server has reported,
 * because nothing in between matched; catching up again then reaches the head.
 */
async function* liveBatches(
  client: EventStoreDBClient,
  options: AllSubscriptionOptions,
  idleMs: number,
): AsyncGenerator<LogBatch> {
  const source = new AllSubscription(client, options);
  let { from: position } = options;
  try {
    for (;;) {
      const batch = await nextOrQuiet(source);
      if (batch === null) {
        const head = await unlessAborted(options.signal, readLogHeadOnce(client, idleMs));
        if (head > position) return;
      } else {
        position = batch.position;
        yield batch;
      }
    }
  } finally {
    source.close();
  }
}

async function nextOrQuiet(source: AllSubscription): Promise<LogBatch | null> {
  try {
    return await source.next(QUIET_MS);
  } catch (error) {
    if (error instanceof AttemptTimedOutError) return null;
    throw error;
  }
}
