import { LOG_START, type Position } from "../ports/eventStore.ts";

/** A reading of the log: where it began, which is the log's start unless it says so, where it is, and its end. */
interface Reading {
  readonly from?: Position;
  readonly position: Position;
  readonly head: Position;
}

/** How far a reading has come, in [0, 1]. Positions are opaque and ordered: that is good enough for a bar. */
export function logReadFraction({ from = LOG_START, position, head }: Reading): number {
  const number = (text: Position) => Number(text.split("-", 1)[0] ?? 0);
  const whole = number(head) - number(from);
  return whole <= 0 ? 1 : Math.max(0, number(position) - number(from)) / whole;
}
