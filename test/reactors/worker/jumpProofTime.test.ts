import { expect, test } from "bun:test";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../src/kernel/time.ts";
import { jumpProofTime, SETTLING_MS } from "../../../src/reactors/worker/jumpProofTime.ts";
import { testClock } from "../email/deliveryFixtures.ts";

test("the time of day follows the clock, including drift and corrections backwards", () => {
  const clock = testClock();
  const now = jumpProofTime(clock);
  for (const step of [0, 30 * SECOND_MS, -HOUR_MS, -1, 50 * SECOND_MS]) {
    clock.advance(DAY_MS);
    clock.setBack(-step);
    expect(now()).toBe(clock.now());
  }
});

test("a jump of the clock ahead counts once the clock has stayed there", () => {
  const clock = testClock();
  const now = jumpProofTime(clock);
  const before = clock.now();
  clock.setBack(-DAY_MS);
  expect(now()).toBe(before);
  clock.advance(SETTLING_MS - 1);
  expect(now()).toBe(before + SETTLING_MS - 1);
  clock.advance(1);
  expect(now()).toBe(before + DAY_MS + SETTLING_MS);
});

test("a jump that is corrected, and recurs, never counts", () => {
  const clock = testClock();
  const now = jumpProofTime(clock);
  for (let turn = 0; turn < 3; turn += 1) {
    const before = clock.now();
    clock.setBack(-DAY_MS);
    expect(now()).toBe(before);
    clock.advance(10 * MINUTE_MS);
    expect(now()).toBe(before + 10 * MINUTE_MS);
    clock.setBack(DAY_MS);
    expect(now()).toBe(clock.now());
  }
});
