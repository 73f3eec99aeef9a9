import { expect, test } from "bun:test";
import { rowBackoff } from "../../../src/reactors/worker/rowBackoff.ts";
import { testClock } from "../email/deliveryFixtures.ts";

test("a row's rest doubles after each fault, up to a minute", () => {
  const clock = testClock();
  const rests = rowBackoff(clock);
  for (const restMs of [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]) {
    rests.begin("a");
    rests.failed("a");
    clock.advance(restMs - 1);
    expect({ restMs, isFree: rests.isFree("a"), busy: rests.busy() }).toEqual({
      restMs,
      isFree: false,
      busy: ["a"],
    });
    clock.advance(1);
    expect({ restMs, isFree: rests.isFree("a"), busy: rests.busy() }).toEqual({
      restMs,
      isFree: true,
      busy: [],
    });
  }
  // After a minute without faults the next one counts as the first.
  clock.advance(60_000);
  rests.busy();
  rests.failed("a");
  clock.advance(500);
  expect(rests.isFree("a")).toBeTrue();
});

test("a row in progress and one just finished are left alone", () => {
  const clock = testClock();
  const rests = rowBackoff(clock);
  rests.begin("a");
  rests.begin("b");
  clock.advance(1_000_000);
  expect(rests.busy()).toEqual(["a", "b"]);
  rests.done("a");
  expect(rests.isFree("a")).toBeFalse();
  clock.advance(2_000);
  expect(rests.isFree("a")).toBeTrue();
  expect(rests.busy()).toEqual(["b"]);
});
