import { type Decision, decided } from "../../kernel/event/decider.ts";
import type { QuotaEvent } from "./events.ts";
import type { Quota } from "./state.ts";

/** The most that one instance takes in hand at once: what a crash can lose of a day. */
export const BLOCK_MAX = 256;
/** The nearer the limit, the smaller the block, so that instances can share what is left. */
const BLOCKS_OF_REST = 16;

export interface BlockRequest {
  /** Messages that the workspace may send on this day. */
  readonly limit: number;
  readonly instance: string;
  /** The message that needs one. */
  readonly messageId: string;
}

/** What was taken: so many for any message, or one for the message that asked. */
export type QuotaReservation =
  | { readonly kind: "block"; readonly count: number }
  | { readonly kind: "single" | "none" };

/**
 * Takes the next block in hand: min(256, max(1, remaining / 16)). A block of one is its message's own, and says so.
 * At the limit a message for which one is held already, by a request with the same key elsewhere, gets another:
 * only one of those requests can be accepted, and the rest return theirs.
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

/** Returns what was in hand and not used, or what was taken for one message. Nothing is no event. */
export function returnUnused(
  { reserved }: Quota,
  returned: { readonly count: number; readonly instance: string; readonly messageId?: string },
): Decision<"returned", QuotaEvent> {
  const { count } = returned;
  if (count === 0) return decided("returned");
  return decided("returned", { type: "QuotaReturned", data: { ...returned, reserved: reserved - count } });
}
