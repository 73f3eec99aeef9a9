import type { Decision } from "../../kernel/decider.ts";
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
}

/** Takes the next block in hand: min(256, max(1, remaining / 16)). The outcome is its size; 0 when none is left. */
export function reserveBlock(
  { reserved }: Quota,
  { limit, instance }: BlockRequest,
): Decision<number, QuotaEvent> {
  const remaining = limit - reserved;
  if (remaining <= 0) return { outcome: 0, events: [] };
  const count = Math.min(BLOCK_MAX, Math.max(1, Math.floor(remaining / BLOCKS_OF_REST)));
  return {
    outcome: count,
    events: [{ type: "QuotaReserved", data: { count, instance, reserved: reserved + count } }],
  };
}

/** Returns what was in hand and not used. Nothing is no event. */
export function returnUnused(
  { reserved }: Quota,
  { count, instance }: { readonly count: number; readonly instance: string },
): Decision<"returned", QuotaEvent> {
  if (count === 0) return { outcome: "returned", events: [] };
  return {
    outcome: "returned",
    events: [{ type: "QuotaReturned", data: { count, instance, reserved: reserved - count } }],
  };
}
