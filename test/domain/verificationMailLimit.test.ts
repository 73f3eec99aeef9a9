import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { verificationMailLimitAggregate } from "../../src/commands/aggregateDefinitions.ts";
import {
  ADDRESS_RULE,
  ADDRESS_RULE_OF_FIRST,
  countVerificationMail,
  SENDER_RULE,
  WORKSPACE_RULE,
} from "../../src/domain/verificationMailLimit/decisions.ts";
import type { VerificationMailLimitEvent } from "../../src/domain/verificationMailLimit/events.ts";
import { HOUR_MS, MINUTE_MS, rfc3339 } from "../../src/kernel/time.ts";
import { foldOf, givenWhenThen } from "../support/givenWhenThen.ts";

const given = givenWhenThen(verificationMailLimitAggregate);
const MIDNIGHT = Date.parse("2030-01-02T00:00:00Z");
const NOON = MIDNIGHT - 12 * HOUR_MS;
const counted = (at: number): VerificationMailLimitEvent => ({
  type: "VerificationMailCounted",
  data: { at: rfc3339(at) },
});

describe("the limit of a workspace for an address", () => {
  test("is one mail in ten minutes", () => {
    given(counted(NOON))
      .when((state) => countVerificationMail(state, SENDER_RULE, NOON + 10 * MINUTE_MS - 1))
      .then(NOON + 10 * MINUTE_MS);
    given(counted(NOON))
      .when((state) => countVerificationMail(state, SENDER_RULE, NOON + 10 * MINUTE_MS))
      .then(null, counted(NOON + 10 * MINUTE_MS));
  });

  test("is one in ten minutes across midnight too, and with another clock that is ahead", () => {
    given(counted(MIDNIGHT - 1))
      .when((state) => countVerificationMail(state, SENDER_RULE, MIDNIGHT))
      .then(MIDNIGHT - 1 + 10 * MINUTE_MS);
    given(counted(NOON + MINUTE_MS))
      .when((state) => countVerificationMail(state, SENDER_RULE, NOON))
      .then(NOON + 11 * MINUTE_MS);
  });

  test("is five per UTC day", () => {
    const five = [0, 1, 2, 3, 4].map((hours) => counted(NOON + hours * HOUR_MS));
    given(...five)
      .when((state) => countVerificationMail(state, SENDER_RULE, NOON + 5 * HOUR_MS))
      .then(MIDNIGHT);
    given(...five)
      .when((state) => countVerificationMail(state, SENDER_RULE, MIDNIGHT))
      .then(null, counted(MIDNIGHT));
  });

  test("is one in ten minutes even after the last mail of a full day", () => {
    const last = MIDNIGHT - MINUTE_MS;
    given(...[0, 1, 2, 3].map((hours) => counted(NOON + hours * HOUR_MS)), counted(last))
      .when((state) => countVerificationMail(state, SENDER_RULE, last + 1))
      .then(last + 10 * MINUTE_MS);
  });
});

test("the limit of an address is 20 per UTC day for workspaces that had a mail, and up to 100 for others", () => {
  const some = (count: number) => Array.from({ length: count }, () => counted(NOON));
  given(...some(20))
    .when((state) => countVerificationMail(state, ADDRESS_RULE, NOON))
    .then(MIDNIGHT);
  given(...some(99))
    .when((state) => countVerificationMail(state, ADDRESS_RULE_OF_FIRST, NOON))
    .then(null, counted(NOON));
  given(...some(100))
    .when((state) => countVerificationMail(state, ADDRESS_RULE_OF_FIRST, NOON))
    .then(MIDNIGHT);
});

test("the limit of a workspace is 20 per UTC day, however close together", () => {
  const some = (count: number) => Array.from({ length: count }, () => counted(NOON));
  given(...some(19))
    .when((state) => countVerificationMail(state, WORKSPACE_RULE, NOON))
    .then(null, counted(NOON));
  given(...some(20))
    .when((state) => countVerificationMail(state, WORKSPACE_RULE, NOON))
    .then(MIDNIGHT);
});

test("however mails are requested, no limit is ever exceeded (property)", () => {
  // From the last hours of a day on, minutes apart: where both bounds of an address meet. And for days, hours apart.
  const wait = fc.oneof(
    { weight: 9, arbitrary: fc.integer({ min: 0, max: 15 * MINUTE_MS }) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 3 * HOUR_MS }) },
  );
  const start = fc.integer({ min: MIDNIGHT - 2 * HOUR_MS, max: MIDNIGHT });
  const waits = fc.array(wait, { maxLength: 60, size: "max" });
  const rules = fc.constantFrom(SENDER_RULE, ADDRESS_RULE, ADDRESS_RULE_OF_FIRST, WORKSPACE_RULE);
  fc.assert(
    fc.property(start, waits, rules, (from, waitsMs, rule) => {
      const events: VerificationMailLimitEvent[] = [];
      let now = from;
      for (const waitMs of waitsMs) {
        now += waitMs;
        const state = foldOf(verificationMailLimitAggregate, events);
        const { outcome, events: more } = countVerificationMail(state, rule, now);
        // What it says of the time to come back is true, and not a moment too late.
        if (outcome !== null) {
          expect(countVerificationMail(state, rule, outcome).outcome).toBeNull();
          expect(countVerificationMail(state, rule, outcome - 1).outcome).not.toBeNull();
        }
        events.push(...more);
      }
      const times = events.map(({ data }) => Date.parse(data.at));
      times.forEach((at, index) => {
        if (index > 0) expect(at - (times[index - 1] as number)).toBeGreaterThanOrEqual(rule.spacingMs);
        const sameDay = times.filter((other) => rfc3339(other).slice(0, 10) === rfc3339(at).slice(0, 10));
        expect(sameDay.length).toBeLessThanOrEqual(rule.perDayMax);
      });
    }),
  );
});
