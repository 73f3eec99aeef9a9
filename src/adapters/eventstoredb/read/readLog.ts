import type { EventStoreDBClient } from "@eventstore/db-client";
import { sleep } from "../../../kernel/concurrency/sleep.ts";
import type { LogBatch, Position } from "../../../ports/eventStore.ts";
import { isTransient, unavailable } from "../clientErrors.ts";
import { backoffMs, deadlineIn, leftMs } from "../deadline.ts";
import { AllSubscription, type AllSubscriptionOptions, type LogReading } from "./allSubscription.ts";
import { readLogHead } from "./readLogHead.ts";

/** How many records the server scans at a time while we catch up: few notices, large pages. */
const CATCH_UP_WINDOW = 512;

/**
 * The log up to its head at the start, so it ends even while others keep writing. Throws `unavailable` when the next
 * batch takes longer than `timeoutMs`.
 */
export async function* readLog(
  client: EventStoreDBClient,
  reading: LogReading,
  timeoutMs: number,
): AsyncGenerator<LogBatch> {
  let from = reading.from;
  let deadline = deadlineIn(timeoutMs);
  const idleMs = () => leftMs(deadline);
  const head = await readLogHead(client, deadline);
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

/** Subscription options for catching up with the head. */
export function catchUpOptions(reading: LogReading, head: Position): AllSubscriptionOptions {
  return { ...reading, head, searchWindow: CATCH_UP_WINDOW };
}

/** The batches of a subscription until it ends; throws if one takes longer than `idleMs`. */
export async function* batchesOf(
  client: EventStoreDBClient,
  options: AllSubscriptionOptions,
  idleMs: () => number,
): AsyncGenerator<LogBatch> {
  const source = new AllSubscription(client, options);
  try {
    for (;;) yield await source.next(idleMs());
  } finally {
    source.close();
  }
}
