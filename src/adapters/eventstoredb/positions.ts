import { type ReadPosition, START, type Position as VendorPosition } from "@eventstore/db-client";
import { LOG_START, type Position } from "../../ports/eventStore.ts";

/** -1 as an unsigned 64-bit number. */
const NOWHERE = 2n ** 64n - 1n;
/** The number of digits of 2^64 - 1. Numbers of equal width sort the same as strings. */
const DIGITS = 20;

function digits(value: bigint): string {
  return value.toString().padStart(DIGITS, "0");
}

/** The port's position for a record's position. */
export function positionText({ commit, prepare }: VendorPosition): Position {
  return `${digits(commit)}-${digits(prepare)}` as Position;
}

/**
 * The port's position for a checkpoint notice. While catching up, the server names the first record of a page in which
 * nothing matched, with the prepare part 0. It has scanned that record too, and both parts of our records are equal.
 * Filling in the part gives the position of the record itself, not one just before it.
 */
export function checkpointText({ commit, prepare }: VendorPosition): Position {
  // When reading from the start of the log, the server may first report "nowhere yet".
  if (commit === NOWHERE) return LOG_START;
  return positionText({ commit, prepare: prepare === 0n ? commit : prepare });
}

/** Where the server starts reading for a reader at `position`. Throws for another store's position. */
export function vendorPosition(position: Position): ReadPosition {
  if (position === LOG_START) return START;
  const [commit, prepare] = position.split("-");
  if (commit?.length !== DIGITS || prepare?.length !== DIGITS) {
    throw new RangeError(`"${position}" is not a position of an EventStoreDB log`);
  }
  return { commit: BigInt(commit), prepare: BigInt(prepare) };
}
