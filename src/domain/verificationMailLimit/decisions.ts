import { type Decision, decided } from "../../kernel/event/decider.ts";
import { DAY_MS, type EpochMs, MINUTE_MS, rfc3339, utcDay } from "../../kernel/time.ts";
import type { VerificationMailLimitEvent } from "./events.ts";
import type { VerificationMailLimitState } from "./state.ts";

/** How many verification mails are allowed per UTC day, and how far apart. */
export interface VerificationMailRule {
  readonly perDayMax: number;
  readonly spacingMs: number;
}

/** What one workspace may request for one address. */
export const SENDER_RULE: VerificationMailRule = { perDayMax: 5, spacingMs: 10 * MINUTE_MS };
/**
 * What all workspaces together may request for one address, so nobody can flood a mailbox through us. A workspace that
 * has already had a mail today stops at the lower limit, so a few workspaces cannot use up what another needs.
 */
export const ADDRESS_RULE: VerificationMailRule = { perDayMax: 20, spacingMs: 0 };
export const ADDRESS_RULE_OF_FIRST: VerificationMailRule = { perDayMax: 100, spacingMs: 0 };
export const WORKSPACE_RULE: VerificationMailRule = { perDayMax: 20, spacingMs: 0 };

function isSameDay(one: EpochMs, other: EpochMs): boolean {
  return utcDay(rfc3339(one)) === utcDay(rfc3339(other));
}

/** Whether a mail was counted on the UTC day of `now`. */
export function hasMailToday(state: VerificationMailLimitState, now: EpochMs): boolean {
  return state.some((at) => isSameDay(at, now));
}

/** When a mail may be counted again; null when it may be now. */
export function allowedAgainAt(
  state: VerificationMailLimitState,
  { perDayMax, spacingMs }: VerificationMailRule,
  now: EpochMs,
): EpochMs | null {
  // Another instance's clock may be ahead of ours. Its mail still counts.
  const spacedAt = spacingMs > 0 ? Math.max(now, Math.max(...state) + spacingMs) : now;
  // The last mail of a full day may be so late that the next one has to wait beyond midnight.
  const sameDay = state.filter((at) => isSameDay(at, spacedAt));
  const againAt = sameDay.length < perDayMax ? spacedAt : (Math.floor(spacedAt / DAY_MS) + 1) * DAY_MS;
  return againAt > now ? againAt : null;
}

/** Counts one mail, or returns when the next one may be counted. Two instances cannot both take the last one. */
export function countVerificationMail(
  state: VerificationMailLimitState,
  rule: VerificationMailRule,
  now: EpochMs,
): Decision<EpochMs | null, VerificationMailLimitEvent> {
  const againAt = allowedAgainAt(state, rule, now);
  if (againAt !== null) return decided(againAt);
  return decided(null, { type: "VerificationMailCounted", data: { at: rfc3339(now) } });
}
