import { type EventStore, LOG_START, type Position } from "../ports/eventStore.ts";
import { type Applier, feedToHead } from "./applyEvents.ts";

/** How far a reading of the log has come. */
export interface ReadingProgress {
  /** Events read so far. */
  readonly events: number;
  /** Where the reading began. */
  readonly from: Position;
  readonly position: Position;
  /** Where the head was when the reading began. */
  readonly head: Position;
  readonly elapsedMs: number;
  readonly eventsPerSecond: number;
}

/** What a reading of the log for appliers needs. */
export interface Feeding {
  readonly store: EventStore;
  readonly onProgress?: (progress: ReadingProgress) => void;
  /** Interrupts the reading. */
  readonly signal: AbortSignal;
}

/**
 * Feeds the appliers the log, to its head or their limits, and awaits `between` now and then. Rejects with the signal's
 * reason.
 */
export async function feedWithProgress(
  { store, onProgress, signal }: Feeding,
  appliers: readonly Applier[],
  between?: () => Promise<void>,
): Promise<void> {
  const [from, head] = [leastPosition(appliers), await store.head()];
  const startedAt = performance.now();
  let events = 0;
  for await (const fed of feedToHead(store, appliers)) {
    events += fed;
    const elapsedMs = performance.now() - startedAt;
    const eventsPerSecond = Math.round((events / Math.max(elapsedMs, 1)) * 1_000);
    onProgress?.({ events, from, position: leastPosition(appliers), head, elapsedMs, eventsPerSecond });
    signal.throwIfAborted();
    await between?.();
  }
}

/** The lowest position of the appliers that have not failed. */
function leastPosition(appliers: readonly Applier[]): Position {
  const running = appliers.filter(({ failure }) => !failure);
  return running.map(({ position }) => position).sort()[0] ?? LOG_START;
}

/** A read of the log: where it began (the log's start by default), where it is, and where it ends. */
interface Reading {
  readonly from?: Position;
  readonly position: Position;
  readonly head: Position;
}

/** How far a read has come, in [0, 1]. Positions are opaque but ordered, which is good enough for a bar. */
export function logReadFraction({ from = LOG_START, position, head }: Reading): number {
  const number = (text: Position) => Number(text.split("-", 1)[0] ?? 0);
  const whole = number(head) - number(from);
  return whole <= 0 ? 1 : Math.max(0, number(position) - number(from)) / whole;
}
