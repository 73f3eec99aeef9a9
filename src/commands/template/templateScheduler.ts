import { LRUCache } from "lru-cache";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { fairMutex } from "../../kernel/fairMutex.ts";
import { threadProcessorMs } from "../../kernel/processorTime.ts";
import { nextTurn, sleep } from "../../kernel/sleep.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";

/**
 * Time of each step that is free, in ms. A part of an ordinary template takes some hundredths of that, one with a list
 * of a hundred items half: no rate of these is refused.
 */
const FREE_MS = 2;
/** What a workspace may use beyond that, in ms of processor time a second, and how much of it at once. */
const ALLOWANCE_MS_PER_SECOND = 200;
const ALLOWANCE_MS_MAX = 2_000;
/**
 * After this much work the event loop has a turn, so that other requests wait for that and one step at most. Sends of one
 * turn share a commit, so fewer of them would cost more.
 */
const WORK_MS_PER_TURN = 10;
/** Workspaces whose use is counted at a time; the least recently used one is evicted. */
const WORKSPACES_MAX = 50_000;

/** A workspace's templates have taken as much processor time as they may. */
export class TemplateRateError extends Error {
  override readonly name = "TemplateRateError";
  constructor(readonly retryAfterMs: number) {
    super(
      "the workspace's templates take too much processor time: simplify them, or send less of them at once",
    );
  }
}

/** The request ended before its step began. */
export class AbandonedError extends Error {
  override readonly name = "AbandonedError";
  constructor() {
    super("the request ended before its template was rendered");
  }
}

/** For whom a step is done. */
export type StepOwner = Pick<WorkspaceCommandContext, "workspaceId" | "isAbandoned">;

/** Compiles and renders templates on the main thread so that no workspace's templates hold up other workspaces. */
export interface TemplateScheduler {
  /**
   * Runs one step, which is one part of a template. Workspaces take turns. Throws `TemplateRateError` if the workspace
   * has used up its allowance, `AbandonedError` if nobody waits for the step any more, and what `step` throws.
   */
  run<Result>(owner: StepOwner, step: () => Result): Promise<Result>;
}

/** How much of its allowance a workspace had left at a time; less than 0 if its last step took more than was left. */
interface Balance {
  readonly leftMs: number;
  readonly atMs: number;
}

/** What the scheduler measures with and waits by. */
interface SchedulerTools {
  /** How much processor time the thread has used. */
  readonly processorMs: () => number;
  /** Lets others work for so long; 0: for one turn of the event loop. */
  readonly rest: (ms: number) => Promise<void>;
}

const SYSTEM_TOOLS: SchedulerTools = {
  processorMs: threadProcessorMs,
  rest: (ms) => (ms > 0 ? sleep(ms) : nextTurn()),
};

export function templateScheduler(
  { monotonicMs }: Pick<Clock, "monotonicMs">,
  { processorMs, rest } = SYSTEM_TOOLS,
): TemplateScheduler {
  const allowances = templateAllowances(monotonicMs);
  const steps = fairMutex();
  let waiting = 0;
  let workedMs = 0;
  let restUntilMs = 0;

  const perform = <Result>({ workspaceId }: StepOwner, step: () => Result): Result => {
    const isMeasured = allowances.requireSome(workspaceId);
    const startedAt = monotonicMs();
    // Asking for it takes 1.6 µs, so only workspaces are measured that have lately had a step over the free time.
    const usedBefore = isMeasured ? processorMs() : 0;
    try {
      return step();
    } finally {
      const passedMs = monotonicMs() - startedAt;
      workedMs += passedMs;
      if (passedMs > FREE_MS) {
        const chargedMs = isMeasured ? Math.max(0, processorMs() - usedBefore - FREE_MS) : 0;
        allowances.charge(workspaceId, chargedMs);
        // Others get as much time as a long step took, however little processor time the machine has for us.
        if (chargedMs > 0) restUntilMs = monotonicMs() + passedMs;
      }
    }
  };

  return {
    async run(owner, step) {
      if (waiting === 0 && workedMs < WORK_MS_PER_TURN) return perform(owner, step);
      waiting += 1;
      try {
        return await steps.run(owner.workspaceId, async () => {
          if (workedMs >= WORK_MS_PER_TURN) {
            await rest(Math.max(0, restUntilMs - monotonicMs()));
            workedMs = 0;
          }
          if (owner.isAbandoned?.()) throw new AbandonedError();
          return perform(owner, step);
        });
      } finally {
        waiting -= 1;
      }
    },
  };
}

/** What each workspace has left of its allowance. */
function templateAllowances(monotonicMs: () => number) {
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
    /** Answers whether the workspace was charged lately. Throws `TemplateRateError` if nothing is left. */
    requireSome(workspaceId: string): boolean {
      const leftMs = leftOf(workspaceId);
      if (leftMs !== null && leftMs <= 0)
        throw new TemplateRateError(((1 - leftMs) / ALLOWANCE_MS_PER_SECOND) * SECOND_MS);
      return leftMs !== null;
    },
    charge(workspaceId: string, usedMs: number): void {
      const leftMs = (leftOf(workspaceId) ?? ALLOWANCE_MS_MAX) - usedMs;
      balances.set(workspaceId, { leftMs, atMs: monotonicMs() });
    },
  };
}
