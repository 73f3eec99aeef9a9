import type { Decider } from "../../kernel/event/decider.ts";
import type { QuotaEvent } from "./events.ts";

/** A workspace's quota on one day. */
export interface Quota {
  /** Messages that instances have reserved: used, or about to be. */
  readonly reserved: number;
  /** The messages that hold a single unit which was not returned, the latest last: one entry for each unit. */
  readonly heldFor: readonly string[];
  /** The instances that may have a rest of a block. */
  readonly withBlock: readonly string[];
}

/** How many messages are remembered: more than are left of a limit when single units begin. */
export const HELD_FOR_MAX = 64;

function evolve({ heldFor, withBlock }: Quota, { type, data }: QuotaEvent): Quota {
  const { reserved, instance, messageId } = data;
  const others = withBlock.filter((one) => one !== instance);
  if (messageId === undefined) {
    // An instance always returns the whole rest of its block.
    return { reserved, heldFor, withBlock: type === "QuotaReserved" ? [...others, instance] : others };
  }
  if (type === "QuotaReserved") {
    // An instance takes a single unit only if nothing is left of its block.
    return { reserved, heldFor: [...heldFor, messageId].slice(-HELD_FOR_MAX), withBlock: others };
  }
  const index = heldFor.lastIndexOf(messageId);
  return { reserved, heldFor: heldFor.filter((_, place) => place !== index), withBlock };
}

export const quotaDecider: Decider<Quota, QuotaEvent> = {
  initialState: { reserved: 0, heldFor: [], withBlock: [] },
  evolve,
};
