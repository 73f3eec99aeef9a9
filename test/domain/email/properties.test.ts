import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { emailAggregate } from "../../../src/commands/aggregateDefinitions.ts";
import { eraseContent, expireContent } from "../../../src/domain/email/contentErasure.ts";
import { expire, expireLease, recordOutcome, startDelivery } from "../../../src/domain/email/decisions.ts";
import { classifyMailOutcome } from "../../../src/domain/email/delivery/classifyMailOutcome.ts";
import { DELIVERY_POLICY, type DeliveryPolicy } from "../../../src/domain/email/delivery/deliveryPolicy.ts";
import { expiresAt } from "../../../src/domain/email/delivery/messageExpiry.ts";
import { nextDeliveryAction } from "../../../src/domain/email/delivery/nextDeliveryAction.ts";
import type { EmailEvent } from "../../../src/domain/email/events.ts";
import { type EmailState, emailDecider, isTerminal, RESUMED } from "../../../src/domain/email/state.ts";
import { pausedMs } from "../../../src/domain/workspace/state.ts";
import { HOUR_MS, MINUTE_MS } from "../../../src/kernel/time.ts";
import {
  ACCEPTED_AT,
  type AcceptanceOptions,
  type AppliedStep,
  feedbackLists,
  type History,
  mailOutcomes,
  play,
  stepsArbitrary,
  withFeedback,
  withLateSent,
} from "../../support/emailHistories.ts";
import { foldOf } from "../../support/givenWhenThen.ts";

const RUNS = { numRuns: 400 };
const HOLD: DeliveryPolicy = { ...DELIVERY_POLICY, onAmbiguous: "hold" };
const policies = fc.constantFrom(DELIVERY_POLICY, HOLD, { ...DELIVERY_POLICY, lifetimeMs: HOUR_MS });

const acceptanceOptions = fc.constantFrom<AcceptanceOptions>(
  {},
  {},
  { as: "scheduled", dueInMs: 10 * HOUR_MS },
);

/** Checks something of every random history. */
function forEveryHistory(check: (history: History, policy: DeliveryPolicy) => void): void {
  fc.assert(
    fc.property(stepsArbitrary, policies, acceptanceOptions, (steps, policy, options) =>
      check(play(steps, policy, options), policy),
    ),
    RUNS,
  );
}

const isOutcome = ({ step, attempt }: AppliedStep) => step.action.kind === "outcome" && attempt > 0;
const concernsAttempt = (step: AppliedStep) => isOutcome(step) || step.step.action.kind === "releaseLease";
const facts = { reply: "250 ok", transport: "smtp" };

describe("whatever several workers do and however late (properties):", () => {
  test("a message ends at most once, and only that a relay took it after all changes its end", () => {
    forEveryHistory(({ steps }) => {
      for (const { before, after, events } of steps) {
        if (!isTerminal(before?.status ?? "queued")) continue;
        const isSent = events.some(({ type }) => type === "EmailSent");
        expect(after).toMatchObject({ status: isSent ? "sent" : before?.status, claim: null });
      }
    });
  });

  test("an outcome is marked as superseded exactly if it does not set the message's status", () => {
    const sets = {
      EmailSent: "sent",
      EmailBounced: "bounced",
      EmailFailed: "failed",
      EmailDeferred: "deferred",
    };
    forEveryHistory(({ steps }) => {
      for (const { before, events } of steps.filter(isOutcome)) {
        const [event] = events;
        if (event === undefined) continue;
        const status = sets[event.type as keyof typeof sets];
        const isSet = before?.status !== status && emailDecider.evolve(before, event)?.status === status;
        expect("superseded" in event.data).toBe(!isSet);
      }
    });
  });

  test("histories end in every possible way, so the checks above see every case", () => {
    const seen = new Set<string>();
    forEveryHistory(({ state }) => {
      seen.add(state?.status ?? "");
    });
    for (const status of ["sending", "deferred", "sent", "bounced", "failed", "suppressed", "canceled"])
      expect(seen).toContain(status);
  });

  test("claims are numbered without a gap, and only a message that waits is claimed", () => {
    forEveryHistory(({ events, steps }) => {
      const claims = events.flatMap(({ event }) =>
        event.type === "EmailDeliveryStarted" ? event.data.attempt : [],
      );
      expect(claims).toEqual(claims.map((_, index) => index + 1));
      for (const { before, events: decided } of steps) {
        if (decided[0]?.type !== "EmailDeliveryStarted") continue;
        expect(["queued", "scheduled", "deferred"]).toContain(before?.status ?? "");
      }
    });
  });

  test("every attempt's own outcome gets into the log once", () => {
    forEveryHistory(({ steps }) => {
      const settled = new Set<number>();
      const isNew = ({ attempt }: AppliedStep) => !settled.has(attempt);
      for (const step of steps.filter(concernsAttempt)) {
        if (isOutcome(step)) expect(step.events.length > 0).toBe(isNew(step));
        if (step.events.length > 0) settled.add(step.attempt);
      }
    });
  });

  test("a recorded outcome gives no second event, whatever the repeat says", () => {
    forEveryHistory(({ steps }, policy) => {
      for (const { after, attempt, input } of steps.filter(isOutcome)) {
        const context = { policy, input, transport: "smtp" };
        expect(recordOutcome(after, attempt, { kind: "sent", codes: "250" }, context).events).toEqual([]);
      }
    });
  });

  test("no next attempt is set beyond the message's lifetime", () => {
    forEveryHistory(({ steps }, policy) => {
      for (const { before, events, input } of steps) {
        const [event] = events;
        // An operator's word is for now, whenever that is.
        if (event?.type !== "EmailDeferred" || event.data.reason === RESUMED) continue;
        if (before === null) throw new Error("a message was deferred that was never accepted");
        const at = Date.parse(event.data.nextAttemptAt);
        expect(at).toBeLessThanOrEqual(expiresAt(before, policy, input.pausedMs));
      }
    });
  });

  test("the fold of the stored events is the state that the decisions had", () => {
    forEveryHistory(({ events, state }) => {
      const stored = events.map(({ event }) => event);
      expect(foldOf(emailAggregate, stored)).toEqual(state as NonNullable<EmailState>);
    });
  });

  test("no event but the content carries an address", () => {
    forEveryHistory(({ events }) => {
      for (const { event } of events) {
        if (event.type !== "EmailContentStored") expect(JSON.stringify(event.data)).not.toContain("@");
      }
    });
  });
});

describe("whenever content is erased (properties):", () => {
  const isErasure = ({ before, after }: AppliedStep) =>
    after?.contentErased === true && !before?.contentErased;
  const isErasureRequest = ({ step }: AppliedStep) => step.action.kind === "erase";

  test("it is erased once, as soon as no worker has the message claimed, and never before", () => {
    const seen = { afterClaim: 0, atOnce: 0 };
    const check = (applied: AppliedStep, wasRequested: boolean) => {
      const { before, after, events } = applied;
      const isDue = wasRequested && after?.claim === null;
      expect(after?.contentErased).toBe(before?.contentErased === true || isDue);
      const erasures = events.filter(({ type }) => type === "EmailContentErased").length;
      expect(erasures).toBe(isErasure(applied) ? 1 : 0);
      if (erasures > 0) seen[isErasureRequest(applied) ? "atOnce" : "afterClaim"] += 1;
    };
    forEveryHistory(({ steps }) => {
      const firstRequest = steps.findIndex(isErasureRequest);
      for (const [index, applied] of steps.entries())
        check(applied, firstRequest >= 0 && index >= firstRequest);
    });
    // Some twenty of each are usual.
    expect(Math.min(seen.afterClaim, seen.atOnce)).toBeGreaterThan(0);
  });

  test("the message has ended: a waiting one is canceled in the same append, and nobody claims it again", () => {
    forEveryHistory(({ steps }) => {
      for (const { after, events, before } of steps) {
        if (after === null || !after.contentErased) continue;
        expect(isTerminal(after.status)).toBe(true);
        if (before?.contentErased)
          expect(events.map(({ type }) => type)).not.toContain("EmailDeliveryStarted");
        else
          expect(after.erasedFor?.canceled === true).toBe(
            events.some(({ type }) => type === "EmailCanceled"),
          );
      }
    });
  });

  test("asking again writes nothing", () => {
    forEveryHistory(({ steps }) => {
      for (const { after, step } of steps) {
        if (step.action.kind !== "erase") continue;
        expect(eraseContent(after, { reason: "person", erasureId: "e" }).events).toEqual([]);
      }
    });
  });

  test("retention erases messages that have ended and are old enough, and no others", () => {
    forEveryHistory(({ state }) => {
      if (state === null) throw new Error("it was not accepted");
      const isDue = isTerminal(state.status) && !state.contentErased;
      const since = state.scheduledAt ?? ACCEPTED_AT;
      expect(expireContent(state, since - 1)).toEqual({ outcome: "notDue", events: [] });
      const { outcome, events } = expireContent(state, since);
      expect(outcome).toBe(isDue ? "erased" : "notDue");
      expect(events).toEqual(isDue ? [{ type: "EmailContentErased", data: { reason: "retention" } }] : []);
    });
  });
});

/** Does what `nextDeliveryAction` says until the message has ended, the relay answering `outcome` each time. */
function drive(history: History, policy: DeliveryPolicy, answer: (attempt: number) => EmailEvent[]) {
  let { state, now } = history;
  const evolve = (events: readonly EmailEvent[]) => {
    state = events.reduce(emailDecider.evolve, state);
  };
  for (let turn = 0; turn < 5_000; turn += 1) {
    const input = { now, random: 0.5, pausedMs: pausedMs(history.workspace, ACCEPTED_AT, now) };
    const action = nextDeliveryAction(state, input, policy);
    if (action.kind === "none") return { state, now };
    if (action.kind === "wait") {
      expect(action.until).toBeGreaterThan(now);
      now = action.until;
    } else if (action.kind === "watchLease") {
      now += action.leaseMs;
      evolve(expireLease(state, action.attempt, policy, { ...input, now }).events);
    } else if (action.kind === "expire") evolve(expire(state, policy, input).events);
    else {
      const request = { worker: "w", transport: "smtp", leaseMs: policy.leaseMs };
      const { outcome: attempt, events } = startDelivery(state, request, now);
      expect(attempt).not.toBeNull();
      evolve(events);
      evolve(answer(attempt ?? 0));
    }
  }
  throw new Error(`the message is stuck: ${JSON.stringify(state)}`);
}

describe("nextDeliveryAction (properties)", () => {
  const quick: DeliveryPolicy = { ...DELIVERY_POLICY, relayRetryMs: 10 * MINUTE_MS, leaseMs: 10 * MINUTE_MS };
  const quickPolicies = fc.constantFrom(quick, { ...quick, onAmbiguous: "hold" as const });

  test("ends every message within its lifetime and its pauses, even if the relay never answers", () => {
    fc.assert(
      fc.property(stepsArbitrary, quickPolicies, (steps, policy) => {
        const history = play([...steps, { action: { kind: "unpause" }, waitMs: 0, random: 0 }], policy);
        const { state, now } = drive(history, policy, () => []);
        const paused = pausedMs(history.workspace, ACCEPTED_AT, now);
        expect(isTerminal(state?.status ?? "queued")).toBe(true);
        // The last claim may begin just before the end: it has its lease.
        const end = ACCEPTED_AT + policy.lifetimeMs + paused + policy.leaseMs;
        expect(now).toBeLessThanOrEqual(Math.max(end, history.now + policy.leaseMs));
      }),
      { numRuns: 100 },
    );
  });

  test("sends a waiting message as soon as the relay accepts it, but none that is held in doubt", () => {
    fc.assert(
      fc.property(stepsArbitrary, quickPolicies, (steps, policy) => {
        const history = play([...steps, { action: { kind: "unpause" }, waitMs: 0, random: 0 }], policy);
        const wasAmbiguous = history.state?.status === "deferred" && history.state.isDeliveryUnknown;
        const { state } = drive(history, policy, (attempt) => [
          { type: "EmailSent", data: { attempt, ...facts } },
        ]);
        if (policy.onAmbiguous === "hold" && wasAmbiguous) expect(state?.status).toBe("failed");
        else expect(isTerminal(state?.status ?? "queued")).toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  test("is none exactly for messages that have ended or do not exist", () => {
    const input = { now: ACCEPTED_AT, random: 0, pausedMs: 0 };
    expect(nextDeliveryAction(null, input, DELIVERY_POLICY)).toEqual({ kind: "none" });
    forEveryHistory(({ steps }, policy) => {
      for (const { after, input: at } of steps) {
        const { kind } = nextDeliveryAction(after, at, policy);
        expect(kind === "none").toBe(isTerminal(after?.status ?? "queued"));
      }
    });
  });
});

describe("a message with a deadline (properties)", () => {
  const withDeadline = fc.record({
    as: fc.constantFrom("queued" as const, "scheduled" as const),
    dueInMs: fc.integer({ min: 0, max: HOUR_MS }),
    deadlineInMs: fc.integer({ min: HOUR_MS + 1, max: 73 * HOUR_MS }),
  });
  const deadlineOf = ({ deadlineInMs = 0 }: AcceptanceOptions) => ACCEPTED_AT + deadlineInMs;

  test("is never claimed from then on, whatever workers, pauses, operators and late answers do", () => {
    const seen = { claimed: 0, refused: 0 };
    forEveryStep(withDeadline, ({ step, now, before, outcome }, options) => {
      if (step.action.kind !== "claim" || isTerminal(before?.status ?? "queued") || before?.claim) return;
      const isInTime = now < deadlineOf(options);
      expect(outcome !== null).toBe(isInTime);
      seen[isInTime ? "claimed" : "refused"] += 1;
    });
    expect(Math.min(seen.claimed, seen.refused)).toBeGreaterThan(10);
  });

  test("is to be delivered only before it, and fails once a clock that is believed has passed it", () => {
    fc.assert(
      fc.property(
        stepsArbitrary,
        policies,
        withDeadline,
        fc.nat(80),
        (steps, policy, options, behindHours) => {
          const deadline = deadlineOf(options);
          for (const { after, now, input } of play(steps, policy, options).steps) {
            const jumpProofNow = now - behindHours * HOUR_MS;
            const { kind } = nextDeliveryAction(after, { ...input, jumpProofNow }, policy);
            if (now >= deadline) expect(kind).not.toBe("deliver");
            if (jumpProofNow >= deadline && kind !== "none" && kind !== "watchLease")
              expect(kind).toBe("expire");
          }
        },
      ),
      RUNS,
    );
  });

  test("has ended by then, or with the lease of an attempt that has begun before, even while it is paused", () => {
    fc.assert(
      fc.property(stepsArbitrary, policies, withDeadline, (steps, policy, options) => {
        const history = play(steps, policy, options);
        const { state, now } = drive(history, policy, () => []);
        expect(isTerminal(state?.status ?? "queued")).toBe(true);
        expect(now).toBeLessThanOrEqual(Math.max(deadlineOf(options), history.now) + policy.leaseMs);
      }),
      { numRuns: 100 },
    );
  });

  test("is never moved to a time from then on", () => {
    forEveryStep(withDeadline, ({ after, events }, options) => {
      if (events[0]?.type === "EmailRescheduled")
        expect(after?.scheduledAt).toBeLessThan(deadlineOf(options));
    });
  });

  test("never outlives its lifetime because of it", () => {
    forEveryStep(withDeadline, ({ after, input }) => {
      if (after === null) throw new Error("it was not accepted");
      const without = { ...after, deliverBefore: null };
      const end = expiresAt(after, DELIVERY_POLICY, input.pausedMs);
      expect(end).toBeLessThanOrEqual(expiresAt(without, DELIVERY_POLICY, input.pausedMs));
    });
  });
});

/** Checks something of every step of random histories that begin as `options` say. */
function forEveryStep(
  options: fc.Arbitrary<AcceptanceOptions>,
  check: (step: AppliedStep, options: AcceptanceOptions) => void,
): void {
  fc.assert(
    fc.property(stepsArbitrary, policies, options, (steps, policy, accepted) => {
      for (const step of play(steps, policy, accepted).steps) check(step, accepted);
    }),
    RUNS,
  );
}

describe("content that is kept until the end alone (properties)", () => {
  const isErased = ({ type }: EmailEvent) => type === "EmailContentErased";
  const kept = fc.record({
    isErasedAtEnd: fc.constant(true),
    as: fc.constantFrom("queued" as const, "scheduled" as const),
    dueInMs: fc.constant(HOUR_MS),
  });

  test("is erased in the append that ends the message, whatever ends it, and never before", () => {
    const reasons = new Set<string>();
    const ends = new Set<string>();
    forEveryStep(kept, ({ after, events }) => {
      expect(after?.contentErased).toBe(isTerminal(after?.status ?? "queued"));
      if (!events.some(isErased)) return;
      ends.add(after?.status ?? "");
      reasons.add(after?.erasedFor?.reason ?? "");
    });
    expect([...reasons].toSorted()).toEqual(["final_status", "requested"]);
    for (const status of ["sent", "bounced", "failed", "suppressed", "canceled"])
      expect(ends).toContain(status);
  });

  test("is erased once, also if feedback or a late outcome follows", () => {
    fc.assert(
      fc.property(stepsArbitrary, policies, kept, feedbackLists, (steps, policy, options, feedback) => {
        const { events, state } = withLateSent(withFeedback(play(steps, policy, options), feedback), policy);
        const erasures = events.filter(({ event }) => isErased(event));
        expect(erasures).toHaveLength(isTerminal(state?.status ?? "queued") ? 1 : 0);
      }),
      RUNS,
    );
  });
});

test("classifyMailOutcome is total, and only an answer can end a message (property)", () => {
  fc.assert(
    fc.property(mailOutcomes, (outcome) => {
      const result = classifyMailOutcome(outcome);
      const isEnd = result.kind !== "deferred";
      if (isEnd) expect(["accepted", "refused"]).toContain(outcome.kind);
      expect(result.kind === "sent").toBe(outcome.kind === "accepted");
      // What is not the message's fault burns nothing; what may have been sent is in doubt.
      if (result.kind === "deferred") expect(result.ambiguous).toBe(outcome.kind === "unknown");
    }),
    { numRuns: 500 },
  );
});
