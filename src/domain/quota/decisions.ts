import { type Decision, decided } from "../../kernel/event/decider.ts";
import type { QuotaEvent } from "./events.ts";
import type { Quota } from "./state.ts";

/** The largest block that one instance reserves at a time: a crash can lose this much of a day. */
export const BLOCK_MAX = 256;
/** A block is this fraction of what is left: near the limit blocks get small, so instances can share the rest. */
const BLOCKS_OF_REST = 16;

interface BlockRequest {
  /** Messages that the workspace may send on this day. */
  readonly limit: number;
  readonly instance: string;
  /** The message that needs one. */
  readonly messageId: string;
}

/** What was reserved: a block for any messages, or a single unit for the requesting message. */
export type QuotaReservation =
  | { readonly kind: "block"; readonly count: number }
  | { readonly kind: "single" | "none" };

/**
 * Reserves the next block: min(256, max(1, remaining / 16)). A block of one belongs to its message, and records it. At
 * the limit, a message that already holds a unit, through a request with the same key elsewhere, gets another one: only
 * one of those requests can be accepted, and the others return theirs.
 */
export function reserveBlock(
  { reserved, heldFor }: Quota,
  { limit, instance, messageId }: BlockRequest,
): Decision<QuotaReservation, QuotaEvent> {
  const remaining = limit - reserved;
  if (remaining <= 0 && !heldFor.includes(messageId)) return decided({ kind: "none" });
  const count = Math.min(BLOCK_MAX, Math.max(1, Math.floor(remaining / BLOCKS_OF_REST)));
  const taken = { count, instance, reserved: reserved + count };
  if (count > 1) return decided({ kind: "block", count }, { type: "QuotaReserved", data: taken });
  return decided({ kind: "single" }, { type: "QuotaReserved", data: { ...taken, messageId } });
}

/** Returns the unused rest of a block, or the unit of one message. Returning nothing gives no events. */
export function returnUnused(
  { reserved }: Quota,
  returned: { readonly count: number; readonly instance: string; readonly messageId?: string },
): Decision<"returned", QuotaEvent> {
  const { count } = returned;
  if (count === 0) return decided("returned");
  return decided("returned", { type: "QuotaReturned", data: { ...returned, reserved: reserved - count } });
}
