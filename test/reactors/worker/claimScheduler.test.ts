import { expect, test } from "bun:test";
import { systemClock } from "../../../src/adapters/system/systemClock.ts";
import { ClaimScheduler } from "../../../src/reactors/worker/claimScheduler.ts";
import { until } from "../../support/until.ts";

/** Fails the first time, and succeeds from then on. */
function failingOnce<Result>(answer: () => Result): () => Result {
  let hasFailed = false;
  return () => {
    if (hasFailed) return answer();
    hasFailed = true;
    throw new Error("the disk is unavailable");
  };
}

test("a failing query or permit is reported and does not stop the scheduler", async () => {
  const stopping = new AbortController();
  const processed: string[] = [];
  const failures: unknown[] = [];
  let permits = 1;
  const ready = failingOnce(() => ({ items: [{ id: "one", revision: 1 }], more: "none" as const }));
  const acquire = failingOnce(() => {
    if (permits === 0) return null;
    permits -= 1;
    let isHeld = true;
    const release = () => {
      if (isHeld) permits += 1;
      isHeld = false;
    };
    return { release };
  });
  const scheduler = new ClaimScheduler({
    clock: systemClock,
    isLogShared: false,
    random: () => 0,
    inFlightMax: 1,
    stopping: stopping.signal,
    ready,
    nextReadyAt: () => null,
    acquire,
    ownersOf: () => [],
    handle: async ({ id, revision }) => {
      processed.push(id);
      return revision;
    },
    onTrouble: (error, id) => failures.push([(error as Error).message, id]),
  });
  const running = scheduler.run();
  await until(() => processed.length === 1, "the item to be processed");
  stopping.abort();
  await running;
  const messages = ["the disk is unavailable", ""];
  expect(failures).toEqual([messages, messages]);
  expect(permits).toBe(1);
});
