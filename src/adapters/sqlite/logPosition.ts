import { LOG_START, type Position } from "../../ports/eventStore.ts";

/** A position of the port as the log's table counts them: from 1, and 0 before the first. */
export function positionNumber(position: Position): number {
  return position === LOG_START ? 0 : Number(position);
}

/** The other way about, in sixteen digits: enough for 2^53, and they order as strings. */
export function positionText(position: number): Position {
  return position === 0 ? LOG_START : (String(position).padStart(16, "0") as Position);
}
