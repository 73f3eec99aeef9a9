import type { EventStoreDBClient } from "@eventstore/db-client";
import type { LogBatch, LogFilter, Position } from "../../ports/eventStore.ts";
import { backoffMs, deadlineIn, leftMs, pause } from "./deadline.ts";
import { isPassing, unavailable } from "./failures.ts";
import { readHeadOnce } from "./head.ts";
import { LogSession, type LogSessionOptions } from "./logSession.ts";

/** Records that the server looks through at a time while we catch up: few notices, large pages. */
const CATCH_UP_WINDOW = 512;
/** At the head every record counts: a position must reach the head even when nothing matches. */
const LIVE_WINDOW = 1;
/** The pauses between two subscriptions, in ms. */
const RESUBSCRIBE_MS_MIN = 50;
const RESUBSCRIBE_MS_MAX = 2_000;

/** The reader's place and wishes. */
export interface LogReading {
  readonly from: Position;
  readonly filter: LogFilter;
  readonly signal: AbortSignal;
}

/** The log up to its head. A wait of `timeoutMs` for the next batch throws `unavailable`. */
export async function* readLog(
  client: EventStoreDBClient,
  reading: LogReading,
  timeoutMs: number,
): AsyncGenerator<LogBatch> {
  let from = reading.from;
  let deadline = deadlineIn(timeoutMs);
  for (let attempt = 0; ; attempt += 1) {
    try {
      for await (const batch of catchUp(client, { ...reading, from }, () => leftMs(deadline))) {
        yield batch;
        if (batch.caughtUp) return;
        from = batch.position;
        deadline = deadlineIn(timeoutMs);
        attempt = 0;
      }
    } catch (error) {
      const waitMs = backoffMs(attempt);
      const isOver = reading.signal.aborted || leftMs(deadline) <= waitMs;
      if (isOver || !isPassing(error)) throw unavailable("cannot read the log", error);
      await pause(waitMs, reading.signal);
    }
  }
}

/**
 * The log without end. The vendor's subscription dies with its server and never resumes, so we supervise:
 * a new one starts after the last batch that was yielded, for as long as the reader wants. Throws
 * `unavailable` only for what no waiting will mend.
 */
export async function* followLog(
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
        const isWorthTelling = isNews(batch, last);
        last = batch;
        if (isWorthTelling) yield batch;
      }
    } catch (error) {
      if (!signal.aborted && !isPassing(error)) throw unavailable("cannot follow the log", error);
    }
    await pause(waitMs, signal);
    waitMs = Math.min(RESUBSCRIBE_MS_MAX, waitMs * 2);
  }
}

function isNews(batch: LogBatch, last: LogBatch): boolean {
  return batch.events.length > 0 || batch.position > last.position || (batch.caughtUp && !last.caughtUp);
}

async function* catchUpThenFollow(
  client: EventStoreDBClient,
  reading: LogReading,
  idleMs: number,
): AsyncGenerator<LogBatch> {
  let { from } = reading;
  for await (const batch of catchUp(client, reading, () => idleMs)) {
    from = batch.position;
    yield batch;
  }
  yield* session(client, { ...reading, from, searchWindow: LIVE_WINDOW });
}

/** From `from` to where the head was when it began: the last batch says that it has caught up. */
async function* catchUp(
  client: EventStoreDBClient,
  reading: LogReading,
  idleMs: () => number,
): AsyncGenerator<LogBatch> {
  const head = await readHeadOnce(client, idleMs());
  const options = { ...reading, head, searchWindow: CATCH_UP_WINDOW };
  for await (const batch of session(client, options, idleMs)) {
    yield batch;
    if (batch.caughtUp) return;
  }
}

async function* session(
  client: EventStoreDBClient,
  options: LogSessionOptions,
  idleMs?: () => number,
): AsyncGenerator<LogBatch> {
  const source = new LogSession(client, options);
  try {
    for (;;) yield await source.next(idleMs?.());
  } finally {
    source.close();
  }
}
