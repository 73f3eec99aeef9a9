import { LRUCache } from "lru-cache";
import { SECOND_MS } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";

/**
 * Time of each step that is free, in ms. A part of an ordinary template takes some hundredths of that, one with a list
 * of a hundred items half, and the text of 20 kB of html about all of it: no rate of these is refused.
 */
export const FREE_MS = 2;
/** What a workspace may use beyond that, in ms of processor time a second, and how much of it at once. */
const ALLOWANCE_MS_PER_SECOND = 200;
const ALLOWANCE_MS_MAX = 2_000;
/** Workspaces whose use is counted at a time; the least recently used one is evicted. */
const WORKSPACES_MAX = 50_000;

/** A workspace's templates, and the texts made of its html, have taken as much processor time as they may. */
export class TemplateRateError extends Error {
  override readonly name = "TemplateRateError";
  constructor(readonly retryAfterMs: number) {
    super(
      "the workspace's templates and html take too much processor time: simplify them, or send less of them at once",
    );
  }
}

/** How much of its allowance a workspace had left at a time; less than 0 if its last step took more than was left. */
interface Balance {
  readonly leftMs: number;
  readonly atMs: number;
}

/** The processor time that each workspace has left for its templates and for texts made of its html. */
export interface TemplateAllowances {
  /** Answers whether the workspace was charged lately. Throws `TemplateRateError` if nothing is left. */
  requireSome(workspaceId: string): boolean;
  /** Whether `requireSome` would throw. */
  isUsedUp(workspaceId: string): boolean;
  /** Charges a step that took so much processor time, in ms. Returns what it took beyond the free time. */
  charge(workspaceId: string, usedMs: number): number;
}

export function templateAllowances({ monotonicMs }: Pick<Clock, "monotonicMs">): TemplateAllowances {
  const balances = new LRUCache<string, Balance>({ max: WORKSPACES_MAX });
  /** Null if the workspace has not been charged for as long as its allowance takes to be full. */
  const leftOf = (workspaceId: string): number | null => {
    const balance = balances.get(workspaceId);
    if (balance === undefined) return null;
    const earnedMs = ((monotonicMs() - balance.atMs) / SECOND_MS) * ALLOWANCE_MS_PER_SECOND;
    const leftMs = balance.leftMs + earnedMs;
    if (Math.min(leftMs, earnedMs) < ALLOWANCE_MS_MAX) return Math.min(leftMs, ALLOWANCE_MS_MAX);
    balances.delete(workspaceId);
    return null;
  };
  return {
    requireSome(workspaceId) {
      const leftMs = leftOf(workspaceId);
      if (leftMs !== null && leftMs <= 0)
        throw new TemplateRateError(((1 - leftMs) / ALLOWANCE_MS_PER_SECOND) * SECOND_MS);
      return leftMs !== null;
    },
    isUsedUp(workspaceId) {
      const leftMs = leftOf(workspaceId);
      return leftMs !== null && leftMs <= 0;
    },
    charge(workspaceId, usedMs) {
      const chargedMs = Math.max(0, usedMs - FREE_MS);
      const leftMs = (leftOf(workspaceId) ?? ALLOWANCE_MS_MAX) - chargedMs;
      balances.set(workspaceId, { leftMs, atMs: monotonicMs() });
      return chargedMs;
    },
  };
}
