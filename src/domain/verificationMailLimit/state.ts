import type { Decider } from "../../kernel/event/decider.ts";
import { type EpochMs, epochMs } from "../../kernel/time.ts";
import type { VerificationMailLimitEvent } from "./events.ts";

/** No rule looks back on more. */
const TIMES_MAX = 100;

/** When the last verification mails were counted, in the order of the log. */
export type VerificationMailLimitState = readonly EpochMs[];

export const verificationMailLimitDecider: Decider<VerificationMailLimitState, VerificationMailLimitEvent> = {
  initialState: [],
  evolve: (state, { data }) => [...state, epochMs(data.at)].slice(-TIMES_MAX),
};
