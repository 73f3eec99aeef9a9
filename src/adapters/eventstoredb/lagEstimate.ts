import { LOG_START, type Position } from "../../ports/eventStore.ts";

/** What an event of ours takes in the log on average, measured over sends: data, metadata and the server's own part. */
const EVENT_BYTES = 650;

/** About how many events lie after `from` up to `to`: positions are byte offsets. Events of the server count too. */
export function lagEstimate(from: Position, to: Position): number {
  return Math.max(0, Math.ceil((offsetOf(to) - offsetOf(from)) / EVENT_BYTES));
}

function offsetOf(position: Position): number {
  return position === LOG_START ? 0 : Number(position.split("-", 1)[0]);
}
