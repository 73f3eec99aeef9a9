import { LOG_START, type Position } from "../../ports/eventStore.ts";

/** Converts the port's position to the number in the log's table, which counts from 1; 0 is before the first event. */
export function positionNumber(position: Position): number {
  return position === LOG_START ? 0 : Number(position);
}

/** The inverse, in sixteen digits: enough for 2^53, and they sort correctly as strings. */
export function positionText(position: number): Position {
  return position === 0 ? LOG_START : (String(position).padStart(16, "0") as Position);
}

/** How many events lie after `from` up to `to`: positions have no gaps. */
export function eventsBetween(from: Position, to: Position): number {
  return Math.max(0, positionNumber(to) - positionNumber(from));
}
