import { expect, test } from "bun:test";
import { rowBackoff } from "../../../src/reactors/worker/rowBackoff.ts";
import { testClock } from "../email/deliveryFixtures.ts";

test("a row's rest doubles after each fault, up to a minute", () => {
  const clock = testClock();
  const backoff = rowBackoff(clock);
  for (const backoffMs of [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]) {
    backoff.begin("a");
    backoff.failed("a");
    clock.advance(backoffMs - 1);
    expect({ restMs: backoffMs, isFree: backoff.isFree("a"), busy: backoff.busy() }).toEqual({
      restMs: backoffMs,
      isFree: false,
      busy: ["a"],
    });
    clock.advance(1);
    expect({ restMs: backoffMs, isFree: backoff.isFree("a"), busy: backoff.busy() }).toEqual({
      restMs: backoffMs,
      isFree: true,
      busy: [],
    });
  }
  // After a minute without faults the next one counts as the first.
  clock.advance(60_000);
  backoff.busy();
  backoff.failed("a");
  clock.advance(500);
  expect(backoff.isFree("a")).toBeTrue();
});

test("a row in progress and one just finished are left alone", () => {
  const clock = testClock();
  const backoff = rowBackoff(clock);
  backoff.begin("a");
  backoff.begin("b");
  clock.advance(1_000_000);
  expect(backoff.busy()).toEqual(["a", "b"]);
  backoff.done("a");
  expect(backoff.isFree("a")).toBeFalse();
  clock.advance(2_000);
  expect(backoff.isFree("a")).toBeTrue();
  expect(backoff.busy()).toEqual(["b"]);
});
