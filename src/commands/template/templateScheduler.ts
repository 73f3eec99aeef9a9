import { fairMutex } from "../../kernel/concurrency/fairMutex.ts";
import { nextTurn, sleep } from "../../kernel/concurrency/sleep.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { threadProcessorMs } from "../../kernel/processorTime.ts";
import type { Clock } from "../../ports/clock.ts";
import { FREE_MS, type TemplateAllowances } from "./templateAllowances.ts";

/**
 * After this much work the event loop has a turn, so that other requests wait for that and one step at most. Sends of one
 * turn share a commit, so fewer of them would cost more.
 */
const WORK_MS_PER_TURN = 10;

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
  allowances: TemplateAllowances,
  { processorMs, rest } = SYSTEM_TOOLS,
): TemplateScheduler {
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
        const chargedMs = allowances.charge(workspaceId, isMeasured ? processorMs() - usedBefore : 0);
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
