import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { emailAggregate } from "../../../src/commands/aggregateDefinitions.ts";
import { eraseContent } from "../../../src/domain/email/contentErasure.ts";
import { expireLease, recordOutcome } from "../../../src/domain/email/decisions.ts";
import { DELIVERY_POLICY } from "../../../src/domain/email/delivery/deliveryPolicy.ts";
import { nextDeliveryAction } from "../../../src/domain/email/delivery/nextDeliveryAction.ts";
import type { EmailEvent } from "../../../src/domain/email/events.ts";
import { type Feedback, recordFeedback } from "../../../src/domain/email/feedback/feedbackDecision.ts";
import { type Email, type EmailState, emailDecider, isTerminal } from "../../../src/domain/email/state.ts";
import { HOUR_MS, rfc3339 } from "../../../src/kernel/time.ts";
import { ACCEPTED_AT, acceptance, play, stepsArbitrary } from "../../support/emailHistories.ts";
import { givenWhenThen } from "../../support/givenWhenThen.ts";

const given = givenWhenThen(emailAggregate);
const policy = DELIVERY_POLICY;
const NOW = ACCEPTED_AT + HOUR_MS;
const input = { now: NOW, random: 0, pausedMs: 0 };
const context = { policy, input, transport: "smtp" };

const accepted = acceptance();
const claimed: EmailEvent = {
  type: "EmailDeliveryStarted",
  data: { attempt: 1, worker: "w", leaseMs: policy.leaseMs, transport: "smtp" },
};
const sent: EmailEvent = { type: "EmailSent", data: { attempt: 1, transport: "smtp", reply: "250" } };
const deferred = (ambiguous: boolean): EmailEvent => ({
  type: "EmailDeferred",
  data: {
    attempt: 1,
    reason: "no_answer_to_final_dot",
    attemptBurnt: true,
    ambiguous,
    nextAttemptAt: rfc3339(NOW),
  },
});
const refused: EmailEvent = {
  type: "EmailBounced",
  data: { attempt: 1, reason: "recipient_refused", code: 550 },
};

const DELIVERED: Feedback = { kind: "delivered" };
const COMPLAINED: Feedback = { kind: "complained", feedbackType: "abuse" };
const BOUNCED: Feedback = { kind: "bounced", reason: "mailbox_full", code: 552, enhancedCode: "5.2.2" };
const FEEDBACK = [DELIVERED, BOUNCED, COMPLAINED] as const;

const deliveredEvent: EmailEvent = { type: "EmailDelivered", data: { attempt: 1, source: "ses" } };
const complainedEvent: EmailEvent = {
  type: "EmailComplained",
  data: { attempt: 1, feedbackType: "abuse", source: "ses" },
};
const bouncedEvent: EmailEvent = {
  type: "EmailBounced",
  data: { attempt: 1, reason: "mailbox_full", code: 552, enhancedCode: "5.2.2", source: "ses" },
};

const give = (feedback: Feedback) => (state: EmailState) => recordFeedback(state, feedback, "ses");

describe("feedback on a message that the relay accepted", () => {
  test("is recorded once, with its source", () => {
    given(...accepted, claimed, sent)
      .when(give(DELIVERED))
      .then("recorded", deliveredEvent)
      .again("superseded");
    given(...accepted, claimed, sent)
      .when(give(BOUNCED))
      .then("recorded", bouncedEvent)
      .again("superseded");
    given(...accepted, claimed, sent)
      .when(give(COMPLAINED))
      .then("recorded", complainedEvent)
      .again("superseded");
  });

  test("may follow a delivery: servers forward, and people complain", () => {
    given(...accepted, claimed, sent, deliveredEvent)
      .when(give(BOUNCED))
      .then("recorded", bouncedEvent);
    given(...accepted, claimed, sent, deliveredEvent)
      .when(give(COMPLAINED))
      .then("recorded", complainedEvent);
  });

  test("reverts neither a bounce nor a complaint", () => {
    for (const last of [bouncedEvent, complainedEvent])
      for (const feedback of FEEDBACK)
        given(...accepted, claimed, sent, last)
          .when(give(feedback))
          .then("superseded");
  });

  test("is ignored for a message that never left", () => {
    for (const feedback of FEEDBACK) {
      given().when(give(feedback)).then("notFound");
      given(...accepted)
        .when(give(feedback))
        .then("superseded");
      given(...accepted, claimed, deferred(false))
        .when(give(feedback))
        .then("superseded");
      given(...accepted, claimed, refused)
        .when(give(feedback))
        .then("superseded");
      given(...accepted, { type: "EmailCanceled", data: {} })
        .when(give(feedback))
        .then("superseded");
    }
  });
});

describe("feedback on a message that ended otherwise, although an attempt may have delivered it,", () => {
  const endings: readonly EmailEvent[] = [
    { type: "EmailCanceled", data: {} },
    { type: "EmailFailed", data: { attempt: 1, reason: "expired" } },
    { type: "EmailSuppressed", data: { attempt: 2, reason: "suppressed_since" } },
    { ...refused, data: { ...refused.data, attempt: 2 } } as EmailEvent,
  ];

  test("is recorded once if it is a bounce or a complaint, and changes no status", () => {
    for (const ending of endings) {
      const past = [...accepted, claimed, deferred(true), ending] as const;
      for (const feedback of [BOUNCED, COMPLAINED])
        given(...past)
          .when(give(feedback))
          .then("recorded", ...eventsOf(feedback))
          .again("superseded");
      given(...past)
        .when(give(DELIVERED))
        .then("superseded");
      const state = [...past, bouncedEvent, complainedEvent].reduce(emailDecider.evolve, null as EmailState);
      const before = past.reduce(emailDecider.evolve, null as EmailState);
      expect(state).toEqual({
        ...(before as Email),
        feedback: ["bounced mailbox_full", "complained"],
        report: { status: "bounced", reason: "mailbox_full" },
      });
    }
  });

  test("becomes the status once the attempt turns out to have delivered it", () => {
    for (const ending of endings) {
      const past = [...accepted, claimed, deferred(true), ending];
      const status = (...events: EmailEvent[]) =>
        [...past, ...events].reduce(emailDecider.evolve, null as EmailState);
      expect(status(bouncedEvent, sent)).toMatchObject({ status: "bounced" });
      expect(status(complainedEvent, bouncedEvent, sent)).toMatchObject({
        status: "complained",
        reason: null,
      });
      expect(status(sent, deliveredEvent)).toMatchObject({ status: "delivered" });
      given(...past, sent)
        .when(give(BOUNCED))
        .then("recorded", bouncedEvent)
        .again("superseded");
    }
  });

  test("is recorded again if it is a bounce for another reason, which may suppress the recipient", () => {
    const facts = { reason: "unknown_recipient", code: 550, enhancedCode: "5.1.1" };
    const hard: Feedback = { kind: "bounced", ...facts };
    const hardEvent = { ...bouncedEvent, data: { ...bouncedEvent.data, ...facts } } as EmailEvent;
    for (const ending of endings)
      given(...accepted, claimed, deferred(true), ending, bouncedEvent)
        .when(give(hard))
        .then("recorded", hardEvent)
        .again("superseded");
    given(...accepted, claimed, deferred(true), bouncedEvent)
      .when(give(hard))
      .then("recorded", hardEvent)
      .again("superseded");
  });
});

describe("feedback before the outcome of the attempt is known", () => {
  test("ends a message that the relay may have: it is not sent again", () => {
    for (const feedback of FEEDBACK) {
      const events = [...accepted, claimed, deferred(true), ...eventsOf(feedback)];
      const state = events.reduce(emailDecider.evolve, emailDecider.initialState);
      expect(nextDeliveryAction(state, input, policy)).toEqual({ kind: "none" });
      given(...accepted, claimed, deferred(true))
        .when(give(feedback))
        .then("recorded", ...eventsOf(feedback));
    }
  });

  test("ends one that an earlier attempt may have delivered, although the last one surely did not", () => {
    const claimedAgain = { ...claimed, data: { ...claimed.data, attempt: 2 } } as EmailEvent;
    const deferredAgain = { ...deferred(false), data: { ...deferred(false).data, attempt: 2 } } as EmailEvent;
    given(...accepted, claimed, deferred(true), claimedAgain, deferredAgain)
      .when(give(COMPLAINED))
      .then("recorded", { ...complainedEvent, data: { ...complainedEvent.data, attempt: 2 } } as EmailEvent)
      .again("superseded");
  });

  test("ends a claimed one; the worker's own outcome is still recorded, and its lease expires without effect", () => {
    const past = [...accepted, claimed, bouncedEvent] as const;
    given(...past)
      .when((state) => recordOutcome(state, 1, { kind: "sent", codes: "250" }, context))
      .then("recorded", { ...sent, data: { ...sent.data, superseded: true } } as EmailEvent)
      .again("alreadyRecorded");
    given(...past)
      .when((state) => expireLease(state, 1, policy, input))
      .then("notClaimed");
    const state = [...past, sent].reduce(emailDecider.evolve, emailDecider.initialState);
    expect(state?.status).toBe("bounced");
  });

  test("lets an erasure proceed that waited for the claim", () => {
    given(...accepted, claimed, { type: "EmailContentErasureRequested", data: { reason: "requested" } })
      .when(give(DELIVERED))
      .then("recorded", deliveredEvent, { type: "EmailContentErased", data: { reason: "requested" } });
    given(...accepted, claimed, sent, deliveredEvent)
      .when((state) => eraseContent(state, { reason: "requested" }))
      .then("erased", { type: "EmailContentErased", data: { reason: "requested" } });
  });
});

function eventsOf(feedback: Feedback): readonly EmailEvent[] {
  if (feedback.kind === "delivered") return [deliveredEvent];
  return feedback.kind === "bounced" ? [bouncedEvent] : [complainedEvent];
}

describe("any feedback in any order (properties):", () => {
  const feedbackLists = fc.array(fc.constantFrom(...FEEDBACK), { minLength: 1, maxLength: 5 });
  /** What was told last is never weaker than what is known. */
  const RANK = { sent: 0, delivered: 1, bounced: 2, complained: 2 } as const;

  /** Tells it, and checks what came of it. */
  function afterFeedback(before: EmailState, feedback: Feedback): EmailState {
    const { outcome, events } = recordFeedback(before, feedback, "ses");
    const after = events.reduce(emailDecider.evolve, before);
    expect(events.length > 0).toBe(outcome === "recorded");
    expect(recordFeedback(after, feedback, "ses").events).toEqual([]);
    if (outcome !== "recorded") {
      expect(after).toBe(before);
      return after;
    }
    expect(after?.claim).toBeNull();
    const key = feedback.kind === "bounced" ? `bounced ${feedback.reason}` : feedback.kind;
    expect(after?.feedback).toEqual([...(before?.feedback ?? []), key]);
    if (after?.status === before?.status) {
      expect({ isAmbiguous: after?.ambiguous, isBad: feedback.kind !== "delivered" }).toEqual({
        isAmbiguous: true,
        isBad: true,
      });
      return after;
    }
    expect(after?.status).toBe(feedback.kind);
    const known = before?.status ?? "";
    if (known in RANK) expect(RANK[feedback.kind]).toBeGreaterThan(RANK[known as keyof typeof RANK]);
    return after;
  }

  test("a message that has ended stays so, each kind is recorded at most once, and nothing is reverted", () => {
    fc.assert(
      fc.property(stepsArbitrary, feedbackLists, (steps, feedbackList) => {
        let { state } = play(steps, policy);
        let hasEnded = false;
        for (const one of feedbackList) {
          hasEnded ||= isTerminal(state?.status ?? "queued");
          state = afterFeedback(state, one);
          expect(isTerminal(state?.status ?? "queued")).toBe(hasEnded || state?.status === one.kind);
        }
      }),
      { numRuns: 400 },
    );
  });
});
