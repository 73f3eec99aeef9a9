import { expect, test } from "bun:test";
import { SECOND_MS } from "../../../src/kernel/time.ts";
import { deadlineIn } from "../../../src/ports/clock.ts";
import { mailDeadlines } from "../../../src/reactors/email/mailDeadlines.ts";
import { testClock } from "./deliveryFixtures.ts";

const LEASE_MS = 60 * SECOND_MS;

test("the relay may be used for nine tenths of the lease, which began before the claim was written", () => {
  const clock = testClock();
  const claimingSince = clock.monotonicMs();
  expect(mailDeadlines(clock, LEASE_MS, claimingSince).reply).toEqual(deadlineIn(clock, 54 * SECOND_MS));
  clock.advance(20 * SECOND_MS);
  expect(mailDeadlines(clock, LEASE_MS, claimingSince).reply).toEqual(deadlineIn(clock, 34 * SECOND_MS));
});
