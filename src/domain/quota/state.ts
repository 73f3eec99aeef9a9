import type { Decider } from "../../kernel/decider.ts";
import type { QuotaEvent } from "./events.ts";

/** One day of a workspace. */
export interface Quota {
  /** Messages that instances have taken in hand: used, or about to be. */
  readonly reserved: number;
  /** The messages for which one was taken singly and not returned, the latest last: once for each that has one. */
  readonly heldFor: readonly string[];
}

/** Messages that are remembered: more than any limit has left when they begin to be taken singly. */
export const HELD_FOR_MAX = 64;

function evolve({ heldFor }: Quota, { type, data }: QuotaEvent): Quota {
  const { reserved, messageId } = data;
  if (messageId === undefined) return { reserved, heldFor };
  if (type === "QuotaReserved") return { reserved, heldFor: [...heldFor, messageId].slice(-HELD_FOR_MAX) };
  const index = heldFor.lastIndexOf(messageId);
  return { reserved, heldFor: heldFor.filter((_, place) => place !== index) };
}

export const quotaDecider: Decider<Quota, QuotaEvent> = {
  initialState: { reserved: 0, heldFor: [] },
  evolve,
};
