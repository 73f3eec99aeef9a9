import { describe, expect, test } from "bun:test";
import { emailAggregate } from "../../../src/commands/aggregateDefinitions.ts";
import { DELIVERY_POLICY } from "../../../src/domain/email/delivery/deliveryPolicy.ts";
import { nextDeliveryAction } from "../../../src/domain/email/delivery/nextDeliveryAction.ts";
import type { EmailEvent } from "../../../src/domain/email/events.ts";
import { reschedule, scheduleFault } from "../../../src/domain/email/scheduledTime.ts";
import { DAY_MS, HOUR_MS, rfc3339 } from "../../../src/kernel/time.ts";
import { ACCEPTED_AT, acceptance } from "../../support/emailHistories.ts";
import { foldOf, givenWhenThen } from "../../support/givenWhenThen.ts";

const given = givenWhenThen(emailAggregate);
const NOW = ACCEPTED_AT + HOUR_MS;
const scheduled = acceptance({ as: "scheduled", dueInMs: 5 * DAY_MS });
const queued = acceptance();
const claimed: EmailEvent = {
  type: "EmailDeliveryStarted",
  data: { attempt: 1, worker: "w", transport: "smtp", leaseMs: 1_000 },
};
const canceled: EmailEvent = { type: "EmailCanceled", data: {} };
const movedTo = (at: number): EmailEvent => {
  return { type: "EmailRescheduled", data: { scheduledAt: rfc3339(at) } };
};

describe("a time to schedule a message for", () => {
  test.each([
    ["30 days ahead", NOW + 30 * DAY_MS, null],
    ["a moment more", NOW + 30 * DAY_MS + 1, "must be at most 30 days ahead"],
    ["now", NOW, null],
    ["an hour ago", NOW - HOUR_MS, null],
    ["before that", NOW - HOUR_MS - 1, "is in the past; to send at once, give the present time"],
  ])("%s", (_, at, fault) => {
    expect(scheduleFault(at, NOW)).toBe(fault);
  });
});

describe("a scheduled message", () => {
  test("is moved, and a repeat changes nothing", () => {
    given(...scheduled)
      .when((state) => reschedule(state, NOW + DAY_MS, NOW))
      .then("rescheduled", movedTo(NOW + DAY_MS))
      .again("rescheduled");
  });

  test("that is moved to a past time is due now", () => {
    given(...scheduled)
      .when((state) => reschedule(state, NOW - 1, NOW))
      .then("rescheduled", movedTo(NOW));
    const state = foldOf(emailAggregate, [...scheduled, movedTo(NOW)]);
    expect(nextDeliveryAction(state, { now: NOW, random: 0, pausedMs: 0 }, DELIVERY_POLICY)).toEqual({
      kind: "deliver",
    });
  });

  test("cannot be moved once it was claimed or has ended, or if it was never scheduled or does not exist", () => {
    for (const events of [[...scheduled, claimed], [...scheduled, canceled], queued]) {
      given(...events)
        .when((state) => reschedule(state, NOW, NOW))
        .then("notScheduled");
    }
    given()
      .when((state) => reschedule(state, NOW, NOW))
      .then("notFound");
  });

  test("waits for its time, and its lifetime counts from there", () => {
    const state = foldOf(emailAggregate, scheduled);
    const at = ACCEPTED_AT + 5 * DAY_MS;
    const action = (now: number) =>
      nextDeliveryAction(state, { now, random: 0, pausedMs: 0 }, DELIVERY_POLICY);
    expect(action(NOW)).toEqual({ kind: "wait", until: at });
    expect(action(at)).toEqual({ kind: "deliver" });
    expect(action(at + DELIVERY_POLICY.lifetimeMs - 1)).toEqual({ kind: "deliver" });
    expect(action(at + DELIVERY_POLICY.lifetimeMs)).toEqual({ kind: "expire" });
  });

  test("that was moved after its claim stays as it is", () => {
    const state = foldOf(emailAggregate, [...scheduled, claimed, movedTo(NOW)]);
    expect(state).toMatchObject({ status: "sending", scheduledAt: ACCEPTED_AT + 5 * DAY_MS });
  });
});
