import type { Decider } from "../../kernel/decider.ts";
import type { QuotaEvent } from "./events.ts";

/** One day of a workspace. */
export interface Quota {
  /** Messages that instances have taken in hand: used, or about to be. */
  readonly reserved: number;
}

export const quotaDecider: Decider<Quota, QuotaEvent> = {
  initialState: { reserved: 0 },
  evolve: (_state, event) => ({ reserved: event.data.reserved }),
};
