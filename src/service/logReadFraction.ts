import { LOG_START, type Position } from "../ports/eventStore.ts";

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
