import type { Decider } from "../../kernel/event/decider.ts";
import type { QuotaEvent } from "./events.ts";

/** One day of a workspace. */
export interface Quota {
  /** Messages that instances have taken in hand: used, or about to be. */
  readonly reserved: number;
  /** The messages for which one was taken singly and not returned, the latest last: once for each that has one. */
  readonly heldFor: readonly string[];
  /** The instances that may have something left of a block. */
  readonly withBlock: readonly string[];
}

/** Messages that are remembered: more than any limit has left when they begin to be taken singly. */
export const HELD_FOR_MAX = 64;

function evolve({ heldFor, withBlock }: Quota, { type, data }: QuotaEvent): Quota {
  const { reserved, instance, messageId } = data;
  const others = withBlock.filter((one) => one !== instance);
  if (messageId === undefined) {
    // What comes back is all that was left of a block.
    return { reserved, heldFor, withBlock: type === "QuotaReserved" ? [...others, instance] : others };
  }
  if (type === "QuotaReserved") {
    // Nobody takes one for a single message who has something left.
    return { reserved, heldFor: [...heldFor, messageId].slice(-HELD_FOR_MAX), withBlock: others };
  }
  const index = heldFor.lastIndexOf(messageId);
  return { reserved, heldFor: heldFor.filter((_, place) => place !== index), withBlock };
}

export const quotaDecider: Decider<Quota, QuotaEvent> = {
  initialState: { reserved: 0, heldFor: [], withBlock: [] },
  evolve,
};
