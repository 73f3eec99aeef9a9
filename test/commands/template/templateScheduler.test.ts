import { describe, expect, test } from "bun:test";
import { TemplateRateError, templateAllowances } from "../../../src/commands/template/templateAllowances.ts";
import {
  AbandonedError,
  type TemplateScheduler,
  templateScheduler,
} from "../../../src/commands/template/templateScheduler.ts";

const [HOSTILE, OTHER] = [{ workspaceId: "hostile" }, { workspaceId: "other" }];
const LONG_MS = 100;
/** How long the allowance of a workspace takes to be full again. */
const FULL_AGAIN_MS = 10_000;

/** A scheduler on a clock that only moves while a step works, and while others have a rest. */
function onClock() {
  const clock = { ms: 0 };
  const rests: number[] = [];
  const monotonic = { monotonicMs: () => clock.ms };
  const scheduler = templateScheduler(monotonic, templateAllowances(monotonic), {
    processorMs: () => clock.ms,
    async rest(ms) {
      rests.push(ms);
      clock.ms += ms;
    },
  });
  const work = (ms: number) => () => {
    clock.ms += ms;
    return "done";
  };
  return { scheduler, clock, rests, work };
}

/** Runs steps one after another until one is refused; returns the refusal. */
async function untilRefused(scheduler: TemplateScheduler, step: () => unknown): Promise<TemplateRateError> {
  for (let steps = 0; steps < 1_000; steps += 1) {
    try {
      await scheduler.run(HOSTILE, step);
    } catch (error) {
      if (error instanceof TemplateRateError) return error;
    }
  }
  throw new Error("no step was refused");
}

describe("steps of one workspace", () => {
  test("hold up one of another workspace by two of them at most", async () => {
    const { scheduler, work } = onClock();
    const ended: string[] = [];
    const note = (owner: typeof HOSTILE) => () => {
      work(LONG_MS)();
      ended.push(owner.workspaceId);
    };
    const all = Array.from({ length: 15 }, () => scheduler.run(HOSTILE, note(HOSTILE)));
    all.push(scheduler.run(OTHER, note(OTHER)));
    await Promise.all(all);
    expect(ended).toHaveLength(16);
    // The first has ended, and the second has its turn already, when the other's arrives.
    expect(ended.indexOf("other")).toBeLessThanOrEqual(3);
  });

  test("leave the event loop as long as a long one took, and a turn after many short ones", async () => {
    const { scheduler, work, rests } = onClock();
    await Promise.all([1, 2, 3].map(() => scheduler.run(HOSTILE, work(LONG_MS))));
    expect(rests).toEqual([0, LONG_MS]);
    const short = onClock();
    for (let step = 0; step < 1_000; step += 1) await short.scheduler.run(HOSTILE, short.work(0.1));
    expect(short.rests.length).toBeWithin(5, 20);
    expect(new Set(short.rests)).toEqual(new Set([0]));
  });

  test("run at once after a rest that nobody had to wait for", async () => {
    const { scheduler, clock, work, rests } = onClock();
    for (let step = 0; step < 3; step += 1) {
      await scheduler.run(HOSTILE, work(LONG_MS));
      clock.ms += LONG_MS;
    }
    expect(rests).toEqual([0, 0]);
  });

  test("are not begun once nobody waits for them", async () => {
    const { scheduler, work } = onClock();
    const begun: string[] = [];
    let isAbandoned = false;
    const first = scheduler.run(HOSTILE, work(LONG_MS));
    const second = scheduler.run({ ...HOSTILE, isAbandoned: () => isAbandoned }, () => begun.push("second"));
    isAbandoned = true;
    await first;
    expect(second).rejects.toBeInstanceOf(AbandonedError);
    await second.catch(() => {});
    expect(begun).toEqual([]);
    expect(await scheduler.run(HOSTILE, work(1))).toBe("done");
  });
});

describe("the allowance", () => {
  test("of a workspace runs out by long steps, and not that of another", async () => {
    const { scheduler, work } = onClock();
    await untilRefused(scheduler, work(LONG_MS));
    expect(await scheduler.run(OTHER, work(LONG_MS))).toBe("done");
  });

  test("recovers when the refusal says", async () => {
    const { scheduler, clock, work } = onClock();
    const { retryAfterMs } = await untilRefused(scheduler, work(LONG_MS));
    expect(retryAfterMs).toBeWithin(1, 1_000);
    clock.ms += retryAfterMs;
    expect(await scheduler.run(HOSTILE, work(LONG_MS))).toBe("done");
    clock.ms += FULL_AGAIN_MS;
    for (let step = 0; step < 10; step += 1) await scheduler.run(HOSTILE, work(LONG_MS));
  });

  test("counts steps that fail", async () => {
    const { scheduler, work } = onClock();
    const fail = () => {
      work(LONG_MS)();
      throw new Error("takes too long");
    };
    expect(await untilRefused(scheduler, fail)).toBeInstanceOf(TemplateRateError);
  });

  test("is not used by any number of short steps", async () => {
    const { scheduler, work } = onClock();
    await scheduler.run(HOSTILE, work(LONG_MS));
    for (let step = 0; step < 10_000; step += 1) await scheduler.run(HOSTILE, work(1.5));
  });

  test("is not used by steps that only waited for a processor", async () => {
    const clock = { ms: 0 };
    const monotonic = { monotonicMs: () => clock.ms };
    const tools = { processorMs: () => 0, rest: async () => {} };
    const scheduler = templateScheduler(monotonic, templateAllowances(monotonic), tools);
    for (let step = 0; step < 1_000; step += 1)
      await scheduler.run(HOSTILE, () => {
        clock.ms += LONG_MS;
      });
  });
});
