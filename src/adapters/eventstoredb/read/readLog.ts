import type { EventStoreDBClient } from "@eventstore/db-client";
import { sleep } from "../../../kernel/sleep.ts";
import type { LogBatch, Position } from "../../../ports/eventStore.ts";
import { isTransient, unavailable } from "../clientErrors.ts";
import { backoffMs, deadlineIn, leftMs } from "../deadline.ts";
import { type LogReading, LogSubscription, type LogSubscriptionOptions } from "./logSubscription.ts";
import { readHead } from "./readHead.ts";

/** Records that the server looks through at a time while we catch up: few notices, large pages. */
const CATCH_UP_WINDOW = 512;

/**
 * The log up to where its head was at first, so that it ends though others go on writing. A wait of
 * `timeoutMs` for the next batch throws `unavailable`.
 */
export async function* readLog(
  client: EventStoreDBClient,
  reading: LogReading,
  timeoutMs: number,
): AsyncGenerator<LogBatch> {
  let from = reading.from;
  let deadline = deadlineIn(timeoutMs);
  const idleMs = () => leftMs(deadline);
  const head = await readHead(client, deadline);
  for (let attempt = 0; from < head; attempt += 1) {
    try {
      for await (const batch of batchesOf(client, catchUpOptions({ ...reading, from }, head), idleMs)) {
        const isLast = batch.caughtUp || batch.position >= head;
        yield { ...batch, caughtUp: isLast };
        if (isLast) return;
        from = batch.position;
        deadline = deadlineIn(timeoutMs);
        attempt = 0;
      }
    } catch (error) {
      const waitMs = backoffMs(attempt);
      const isOver = reading.signal.aborted || leftMs(deadline) <= waitMs;
      if (isOver || !isTransient(error)) throw unavailable("cannot read the log", error);
      await sleep(waitMs, reading.signal);
    }
  }
  yield { events: [], position: from, caughtUp: true };
}

/** How the server looks through the log up to its head. */
export function catchUpOptions(reading: LogReading, head: Position): LogSubscriptionOptions {
  return { ...reading, head, searchWindow: CATCH_UP_WINDOW };
}

/** What a subscription brings, until it ends; a wait over `idleMs` throws. */
export async function* batchesOf(
  client: EventStoreDBClient,
  options: LogSubscriptionOptions,
  idleMs?: () => number,
): AsyncGenerator<LogBatch> {
  const source = new LogSubscription(client, options);
  try {
    for (;;) yield await source.next(idleMs?.());
  } finally {
    source.close();
  }
}
