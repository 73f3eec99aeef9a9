import { type ReadPosition, START, type Position as VendorPosition } from "@eventstore/db-client";
import { LOG_START, type Position } from "../../ports/eventStore.ts";

/** -1 as an unsigned number of 64 bits. */
const NOWHERE = 2n ** 64n - 1n;
/** The digits of 2^64 - 1: numbers of one width order as strings as they order as numbers. */
const DIGITS = 20;

function digits(value: bigint): string {
  return value.toString().padStart(DIGITS, "0");
}

/** A record's position as the port knows it. */
export function positionText({ commit, prepare }: VendorPosition): Position {
  return `${digits(commit)}-${digits(prepare)}` as Position;
}

/**
 * A checkpoint notice as a position. While it catches up, the server names the first record of a page in
 * which nothing matched and leaves its prepare part 0. That record was looked at too, and ours have equal
 * parts: with the part filled in, the position is the record's own and not one just before it.
 */
export function checkpointText({ commit, prepare }: VendorPosition): Position {
  // A reading that begins at the start of the log may begin with the server's word for "nowhere yet".
  if (commit === NOWHERE) return LOG_START;
  return positionText({ commit, prepare: prepare === 0n ? commit : prepare });
}

/** Where the server starts to read for a reader at `position`. Throws when it is another store's. */
export function vendorPosition(position: Position): ReadPosition {
  if (position === LOG_START) return START;
  const [commit, prepare] = position.split("-");
  if (commit?.length !== DIGITS || prepare?.length !== DIGITS) {
    throw new RangeError(`"${position}" is not a position of an EventStoreDB log`);
  }
  return { commit: BigInt(commit), prepare: BigInt(prepare) };
}
