import { expect, test } from "bun:test";
import { ReadDatabaseError } from "../../../src/ports/readDatabase.ts";
import { type PeriodicWork, periodicWorker } from "../../../src/reactors/worker/periodicWorker.ts";
import { until } from "../../support/until.ts";

function workerOf(round: PeriodicWork["round"], failures: unknown[] = []) {
  return periodicWorker({
    round,
    intervalMs: 1,
    firstDelayMs: 0,
    onTrouble: (error) => failures.push(error),
  });
}

test("the wait doubles after each failed round, and is reset by one that succeeds", async () => {
  const startedAt: number[] = [];
  const failures: unknown[] = [];
  const unavailable = new Error("the store is unavailable");
  const worker = workerOf(async () => {
    startedAt.push(performance.now());
    if (startedAt.length < 3) throw unavailable;
  }, failures);
  worker.start();
  await until(() => startedAt.length >= 5, "five rounds");
  await worker.stop();
  const [first = 0, second = 0, third = 0, fourth = 0] = startedAt.map(
    (at, index) => (startedAt[index + 1] ?? at) - at,
  );
  expect(first).toBeGreaterThanOrEqual(249);
  expect(second).toBeGreaterThanOrEqual(499);
  expect(third).toBeLessThan(249);
  expect(fourth).toBeLessThan(249);
  expect(failures).toEqual([unavailable, unavailable]);
});

test("a wake-up brings the next round forward, even during a round, but no sooner than the minimum interval", async () => {
  const startedAt: number[] = [];
  const worker = periodicWorker({
    async round() {
      startedAt.push(performance.now());
      worker.wake();
    },
    intervalMs: 3_600_000,
    wokenIntervalMs: 20,
    firstDelayMs: 0,
    onTrouble() {},
  });
  worker.start();
  await until(() => startedAt.length >= 3, "three rounds");
  await worker.stop();
  const [first = 0, second = 0, third = 0] = startedAt;
  expect(second - first).toBeGreaterThanOrEqual(19);
  expect(third - second).toBeGreaterThanOrEqual(19);
});

test("a wake-up between two rounds is not missed", async () => {
  let rounds = 0;
  const worker = periodicWorker({
    async round() {
      rounds += 1;
    },
    intervalMs: 3_600_000,
    wokenIntervalMs: 1,
    firstDelayMs: 0,
    onTrouble() {},
  });
  worker.start();
  for (const expected of [1, 2, 3]) {
    await until(() => rounds === expected, "a round");
    worker.wake();
  }
  await until(() => rounds === 4, "a round for the last event");
  await worker.stop();
});

test("it stops once the current round has ended, and starts no other", async () => {
  const gate = Promise.withResolvers<void>();
  let rounds = 0;
  const worker = workerOf(async () => {
    rounds += 1;
    await gate.promise;
  });
  worker.start();
  await until(() => rounds === 1, "a round");
  let hasStopped = false;
  const stopped = worker.stop().then(() => {
    hasStopped = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(hasStopped).toBe(false);
  gate.resolve();
  await stopped;
  expect(rounds).toBe(1);
});

test("a stop ends sleeps, and what a round throws because of it is not reported", async () => {
  const failures: unknown[] = [];
  let rounds = 0;
  const worker = workerOf(async ({ stopping, sleep }) => {
    rounds += 1;
    await sleep(3_600_000);
    stopping.throwIfAborted();
  }, failures);
  worker.start();
  await until(() => rounds === 1, "a round");
  await worker.stop();
  expect(failures).toEqual([]);
});

test("an unavailable read model is not reported, a damaged one is", async () => {
  const failures: unknown[] = [];
  const damaged = new ReadDatabaseError("damaged", "the file is damaged");
  let rounds = 0;
  const worker = workerOf(async () => {
    rounds += 1;
    throw rounds === 1 ? new ReadDatabaseError("unavailable", "it is being rebuilt") : damaged;
  }, failures);
  worker.start();
  await until(() => rounds >= 2, "two rounds");
  await worker.stop();
  expect(failures).toEqual([damaged]);
});
