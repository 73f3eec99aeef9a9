import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { emailAggregate } from "../../../src/commands/aggregateDefinitions.ts";
import {
  cancel,
  expire,
  expireLease,
  recordOutcome,
  recordSentByOperator,
  releaseLease,
  resumeHeld,
  startDelivery,
} from "../../../src/domain/email/decisions.ts";
import {
  DELIVERY_POLICY,
  type DecisionInput,
  type DeliveryPolicy,
} from "../../../src/domain/email/delivery/deliveryPolicy.ts";
import type { RecordedAttemptResult } from "../../../src/domain/email/delivery/encryptRelayReply.ts";
import { expiresAt } from "../../../src/domain/email/delivery/messageExpiry.ts";
import { nextDeliveryAction } from "../../../src/domain/email/delivery/nextDeliveryAction.ts";
import { redactRelayReply } from "../../../src/domain/email/delivery/redactRelayReply.ts";
import type { EmailEvent } from "../../../src/domain/email/events.ts";
import type { EmailState } from "../../../src/domain/email/state.ts";
import { HOUR_MS, MINUTE_MS, rfc3339, SECOND_MS } from "../../../src/kernel/time.ts";
import { ACCEPTED_AT, acceptance } from "../../support/emailHistories.ts";
import { foldOf, givenWhenThen } from "../../support/givenWhenThen.ts";

const given = givenWhenThen(emailAggregate);
const policy = DELIVERY_POLICY;
const hold: DeliveryPolicy = { ...policy, onAmbiguous: "hold" };
const NOW = ACCEPTED_AT + HOUR_MS;
const input: DecisionInput = { now: NOW, random: 0, pausedMs: 0 };
const context = { policy, input, transport: "smtp" };
const END = ACCEPTED_AT + policy.lifetimeMs;

const queued = acceptance();
const simulated = queued.map((event): EmailEvent => {
  return event.type === "EmailQueued" ? { ...event, data: { ...event.data, simulated: true } } : event;
});
const started = (attempt: number): EmailEvent => {
  const leaseMs = policy.leaseMs;
  return { type: "EmailDeliveryStarted", data: { attempt, worker: "w", leaseMs, transport: "smtp" } };
};
const deferred = (attempt: number, more: object = {}): EmailEvent => ({
  type: "EmailDeferred",
  data: {
    attempt,
    reason: "recipient_deferred",
    attemptBurnt: true,
    ambiguous: false,
    nextAttemptAt: rfc3339(NOW + 2 * MINUTE_MS),
    ...more,
  },
});
const sent = (attempt: number): EmailEvent => {
  return { type: "EmailSent", data: { attempt, transport: "smtp", reply: "250" } };
};
const leaseExpired = (attempt: number, at = NOW): EmailEvent =>
  deferred(attempt, { reason: "lease_expired", ambiguous: true, nextAttemptAt: rfc3339(at) });
const canceled: EmailEvent = { type: "EmailCanceled", data: {} };
const expired = (attempt: number): EmailEvent => {
  return { type: "EmailFailed", data: { attempt, reason: "expired" } };
};
const bounced = (attempt: number): EmailEvent => ({
  type: "EmailBounced",
  data: { attempt, reason: "recipient_refused", code: 550, sealedReply: "sealed 550 no" },
});

/** Messages that have ended, each in its own way. */
const ENDED: readonly (readonly [string, readonly EmailEvent[]])[] = [
  ["sent", [...queued, started(1), sent(1)]],
  ["bounced", [...queued, started(1), bounced(1)]],
  ["expired", [...queued, expired(0)]],
  ["canceled", [...queued, canceled]],
  ["suppressed at acceptance", acceptance({ as: "suppressed" })],
  [
    "suppressed at delivery",
    [...queued, started(1), { type: "EmailSuppressed", data: { reason: "r", attempt: 1 } }],
  ],
];

describe("cancel", () => {
  test("cancels a queued message", () => {
    given(...queued)
      .when(cancel)
      .then("canceled", canceled)
      .again("alreadyCanceled");
  });

  test("cancels a deferred message", () => {
    given(...queued, started(1), deferred(1))
      .when(cancel)
      .then("canceled", canceled)
      .again("alreadyCanceled");
  });

  test("refuses a message that the relay may have, also after an attempt that surely delivered nothing", () => {
    const unknown = [...queued, started(1), leaseExpired(1)];
    for (const past of [unknown, [...unknown, started(2), deferred(2)]])
      given(...past)
        .when(cancel)
        .then("deliveryUnknown");
  });

  test("refuses a message that is being sent, has ended, or does not exist", () => {
    given(...queued, started(1))
      .when(cancel)
      .then("notCancelable");
    for (const [name, events] of ENDED)
      given(...events)
        .when(cancel)
        .then(name === "canceled" ? "alreadyCanceled" : "notCancelable");
    given().when(cancel).then("notFound");
  });
});

describe("recordSentByOperator", () => {
  const byOperator: EmailEvent = {
    type: "EmailSent",
    data: { attempt: 0, transport: "unknown", reply: "", source: "operator" },
  };

  test("ends a message that waits or is claimed, and claims to know no more than that", () => {
    const waiting = [
      queued,
      [...queued, started(1), deferred(1)],
      acceptance({ as: "scheduled", dueInMs: 1 }),
    ];
    for (const past of [...waiting, [...queued, started(1)]]) {
      given(...past)
        .when(recordSentByOperator)
        .then("recorded", byOperator)
        .again("alreadyEnded");
      expect(foldOf(emailAggregate, [...past, byOperator])).toMatchObject({ status: "sent", claim: null });
    }
  });

  test("leaves room for the outcome of an attempt that is still under way", () => {
    const late = { kind: "deferred", reason: "out_of_time", attemptBurnt: false, ambiguous: false } as const;
    const result = { ...late, relayFault: false };
    const nextAttemptAt = rfc3339(NOW + 30 * SECOND_MS);
    const { kind: _, ...data } = late;
    given(...queued, started(1), byOperator)
      .when((state) => recordOutcome(state, 1, result, context))
      .then("recorded", {
        type: "EmailDeferred",
        data: { attempt: 1, ...data, nextAttemptAt, superseded: true },
      });
  });

  test("erases the content that somebody has asked for meanwhile", () => {
    const why = { reason: "requested" };
    const asked: EmailEvent = { type: "EmailContentErasureRequested", data: why };
    given(...queued, started(1), asked)
      .when(recordSentByOperator)
      .then("recorded", byOperator, { type: "EmailContentErased", data: why });
  });

  test("changes no message that has ended, is simulated, or does not exist", () => {
    for (const [, events] of ENDED)
      given(...events)
        .when(recordSentByOperator)
        .then("alreadyEnded");
    given(...simulated)
      .when(recordSentByOperator)
      .then("simulated");
    given().when(recordSentByOperator).then("notFound");
  });
});

describe("startDelivery", () => {
  const request = { worker: "w", transport: "smtp", leaseMs: policy.leaseMs };

  test("claims a queued message, once", () => {
    given(...queued)
      .when((state) => startDelivery(state, request, NOW))
      .then(1, started(1))
      .again(null);
  });

  test("claims a deferred message, with the next number", () => {
    given(...queued, started(1), deferred(1))
      .when((state) => startDelivery(state, request, NOW))
      .then(2, started(2))
      .again(null);
  });

  test("refuses a message that has ended or does not exist", () => {
    for (const [, events] of [...ENDED, ["never", []] as const])
      given(...events)
        .when((state) => startDelivery(state, request, NOW))
        .then(null);
  });
});

describe("recordOutcome", () => {
  const record =
    (result: RecordedAttemptResult, attempt = 1, settings = context) =>
    (state: Parameters<typeof recordOutcome>[0]) =>
      recordOutcome(state, attempt, result, settings);
  const sentResult: RecordedAttemptResult = { kind: "sent", codes: "250" };
  const busy: RecordedAttemptResult = {
    kind: "deferred",
    reason: "recipient_deferred",
    attemptBurnt: true,
    ambiguous: false,
    relayFault: false,
    code: 450,
    sealedReply: "sealed 450 busy",
  };
  const busyDeferral = (attempt: number, delayMs: number) =>
    deferred(attempt, { code: 450, sealedReply: "sealed 450 busy", nextAttemptAt: rfc3339(NOW + delayMs) });
  const unknown: RecordedAttemptResult = {
    ...busy,
    reason: "no_answer_to_final_dot",
    ambiguous: true,
    relayFault: true,
  };

  test("a message that was sent", () => {
    given(...queued, started(1))
      .when(record(sentResult))
      .then("recorded", sent(1))
      .again("alreadyRecorded");
  });

  test("a bounce", () => {
    const result: RecordedAttemptResult = {
      kind: "bounced",
      reason: "recipient_refused",
      code: 550,
      sealedReply: "sealed 550 no",
      suppress: true,
    };
    given(...queued, started(1))
      .when(record(result))
      .then("recorded", bounced(1))
      .again("alreadyRecorded");
  });

  test("a refusal", () => {
    const facts = { reason: "relay_refused", code: 535, sealedReply: "sealed 535 no" };
    given(...queued, started(1))
      .when(record({ kind: "failed", ...facts }))
      .then("recorded", { type: "EmailFailed", data: { attempt: 1, ...facts } })
      .again("alreadyRecorded");
  });

  test("a deferral, with the time of the next attempt", () => {
    given(...queued, started(1))
      .when(record(busy))
      .then("recorded", busyDeferral(1, MINUTE_MS))
      .again("alreadyRecorded");
  });

  test("backoff doubles with every attempt that was burnt, up to a bound, with jitter on top", () => {
    for (const [burnt, minutes] of [
      [0, 1],
      [1, 2],
      [2, 4],
      [5, 32],
      [7, 128],
      [8, 240],
      [30, 240],
    ] as const) {
      const past = Array.from({ length: burnt }, (_, index) => [
        started(index + 1),
        deferred(index + 1),
      ]).flat();
      const attempt = burnt + 1;
      const decide = (random: number) => record(busy, attempt, { ...context, input: { ...input, random } });
      given(...queued, ...past, started(attempt))
        .when(decide(0))
        .then("recorded", busyDeferral(attempt, minutes * MINUTE_MS));
      given(...queued, ...past, started(attempt))
        .when(decide(0.5))
        .then("recorded", busyDeferral(attempt, Math.ceil(minutes * MINUTE_MS * (1 + 0.2 * 0.5))));
    }
  });

  test("the relay's fault waits for the relay and burns nothing", () => {
    const result: RecordedAttemptResult = {
      ...busy,
      reason: "relay_unreachable",
      attemptBurnt: false,
      relayFault: true,
    };
    const facts = {
      reason: "relay_unreachable",
      attemptBurnt: false,
      code: 450,
      sealedReply: "sealed 450 busy",
    };
    const event = deferred(1, { ...facts, nextAttemptAt: rfc3339(NOW + 30 * SECOND_MS) });
    given(...queued, started(1))
      .when(record(result))
      .then("recorded", event);
    expect(foldOf(emailAggregate, [...queued, started(1), event])?.countedAttempts).toBe(0);
  });

  test("the wait for the relay doubles while it answers one message like this, up to a bound", () => {
    const facts = { reason: "relay_unavailable", attemptBurnt: false };
    const result: RecordedAttemptResult = { ...busy, ...facts, relayFault: true };
    for (const [before, seconds] of [
      [1, 60],
      [2, 120],
      [5, 900],
      [300, 900],
    ] as const) {
      const past = Array.from({ length: before }, (_, index) => [
        started(index + 1),
        deferred(index + 1, facts),
      ]).flat();
      const attempt = before + 1;
      const reply = { code: 450, sealedReply: "sealed 450 busy" };
      const nextAttemptAt = rfc3339(NOW + seconds * SECOND_MS);
      given(...queued, ...past, started(attempt))
        .when(record(result, attempt))
        .then("recorded", deferred(attempt, { ...facts, ...reply, nextAttemptAt }));
    }
  });

  test("the last attempt is at the end of the message's lifetime, plus pauses", () => {
    const late = { now: END - 10, random: 0.9, pausedMs: 0 };
    const facts = { code: 450, sealedReply: "sealed 450 busy" };
    given(...queued, started(1))
      .when(record(busy, 1, { ...context, input: late }))
      .then("recorded", deferred(1, { ...facts, nextAttemptAt: rfc3339(END) }));
    given(...queued, started(1))
      .when(record(busy, 1, { ...context, input: { ...late, pausedMs: 20 } }))
      .then("recorded", deferred(1, { ...facts, nextAttemptAt: rfc3339(END + 20) }));
  });

  test("a message that may have been sent is held to its end, if the setting says so", () => {
    const facts = {
      reason: "no_answer_to_final_dot",
      ambiguous: true,
      code: 450,
      sealedReply: "sealed 450 busy",
    };
    given(...queued, started(1))
      .when(record(unknown, 1, { ...context, policy: hold }))
      .then("recorded", deferred(1, { ...facts, nextAttemptAt: rfc3339(END) }));
  });

  test("late, after the lease, after another claim, or after the end: no outcome is dropped", () => {
    const histories: readonly (readonly EmailEvent[])[] = [
      [...queued, started(1), leaseExpired(1)],
      [...queued, started(1), leaseExpired(1), started(2)],
      [...queued, started(1), leaseExpired(1), canceled],
      [...queued, started(1), leaseExpired(1), expired(1)],
    ];
    for (const history of histories)
      given(...history)
        .when(record(sentResult))
        .then("recorded", sent(1))
        .again("alreadyRecorded");
  });

  test("that a relay took the message is what counts, however it has ended meanwhile", () => {
    const unknown = [...queued, started(1), leaseExpired(1)];
    const failed: EmailEvent = { type: "EmailFailed", data: { attempt: 2, reason: "relay_refused" } };
    const suppressed: EmailEvent = {
      type: "EmailSuppressed",
      data: { attempt: 2, reason: "suppressed_since" },
    };
    for (const ending of [
      [canceled],
      [expired(1)],
      [started(2), bounced(2)],
      [started(2), failed],
      [started(2), suppressed],
    ])
      expect(foldOf(emailAggregate, [...unknown, ...ending, sent(1)])).toMatchObject({
        status: "sent",
        reason: null,
        claim: null,
      });
  });

  test("an outcome that does not decide the status is marked", () => {
    const unknown = [...queued, started(1), leaseExpired(1)];
    const takenOver = [...unknown, started(2)];
    const refused: RecordedAttemptResult = { kind: "bounced", reason: "recipient_refused", suppress: false };
    const outOfTime: RecordedAttemptResult = {
      kind: "deferred",
      reason: "out_of_time",
      attemptBurnt: false,
      ambiguous: false,
      relayFault: false,
    };
    const marked = (event: EmailEvent) =>
      ({ ...event, data: { ...event.data, superseded: true } }) as EmailEvent;
    const nextAttemptAt = rfc3339(NOW + 30 * SECOND_MS);
    const late = marked(deferred(1, { reason: "out_of_time", attemptBurnt: false, nextAttemptAt }));
    for (const past of [unknown, [...unknown, canceled], takenOver, [...takenOver, sent(2)]])
      given(...past)
        .when(record(outOfTime))
        .then("recorded", late)
        .again("alreadyRecorded");
    given(...takenOver, sent(2))
      .when(record(refused))
      .then("recorded", marked({ type: "EmailBounced", data: { attempt: 1, reason: "recipient_refused" } }));
    given(...takenOver, sent(2))
      .when(record(sentResult))
      .then("recorded", marked(sent(1)))
      .again("alreadyRecorded");
    given(...takenOver)
      .when(record(refused))
      .then("recorded", { type: "EmailBounced", data: { attempt: 1, reason: "recipient_refused" } });
  });

  test("a late 250 ends a message that another worker has taken over; that worker's outcome changes nothing", () => {
    const past = [...queued, started(1), leaseExpired(1), started(2), sent(1)];
    expect(foldOf(emailAggregate, past)).toMatchObject({ status: "sent", claim: null, attempts: 2 });
    expect(foldOf(emailAggregate, [...past, bounced(2)])).toMatchObject({ status: "sent" });
  });

  test("a late deferral leaves the claim of another worker alone", () => {
    const past = [...queued, started(1), leaseExpired(1), started(2), deferred(1)];
    expect(foldOf(emailAggregate, past)).toMatchObject({ status: "sending", claim: { attempt: 2 } });
  });

  test("nothing for a message that does not exist", () => {
    given().when(record(sentResult)).then("alreadyRecorded");
  });
});

describe("expireLease", () => {
  const expireFirst =
    (settings = policy, at = input) =>
    (state: Parameters<typeof expireLease>[0]) =>
      expireLease(state, 1, settings, at);

  test("declares a claim ambiguous, to be retried at once", () => {
    given(...queued, started(1))
      .when(expireFirst())
      .then("expired", leaseExpired(1))
      .again("notClaimed");
  });

  test("or holds it to the end, which pauses extend, if the setting says so", () => {
    given(...queued, started(1))
      .when(expireFirst(hold))
      .then("expired", leaseExpired(1, END))
      .again("notClaimed");
    given(...queued, started(1))
      .when(expireFirst(hold, { ...input, pausedMs: HOUR_MS }))
      .then("expired", leaseExpired(1, END + HOUR_MS));
  });

  test("holds no simulated message: no relay can have it", () => {
    given(...simulated, started(1))
      .when(expireFirst(hold))
      .then("expired", leaseExpired(1));
    const state = foldOf(emailAggregate, [...simulated, started(1), leaseExpired(1)]);
    expect(nextDeliveryAction(state, input, hold)).toEqual({ kind: "deliver" });
  });

  test("does not set an attempt beyond the message's lifetime", () => {
    given(...queued, started(1))
      .when(expireFirst(policy, { ...input, now: END + HOUR_MS }))
      .then("expired", leaseExpired(1, END));
  });

  test("leaves alone another attempt's claim, and a message that has ended or does not exist", () => {
    given(...queued, started(1), leaseExpired(1), started(2))
      .when(expireFirst())
      .then("notClaimed");
    for (const [, events] of [...ENDED, ["never", []] as const])
      given(...events)
        .when(expireFirst())
        .then("notClaimed");
  });
});

describe("releaseLease", () => {
  const release =
    (reason: Parameters<typeof releaseLease>[2]) => (state: Parameters<typeof releaseLease>[0]) =>
      releaseLease(state, 1, reason, context);

  test.each([
    ["sending_paused", 0],
    ["sender_unavailable", 0],
    ["store_unavailable", 30],
    ["content_store_unavailable", 30],
  ] as const)("%s: waits for as long as that holds and %d s, and burns nothing", (reason, seconds) => {
    const nextAttemptAt = rfc3339(NOW + seconds * SECOND_MS);
    given(...queued, started(1))
      .when(release(reason))
      .then("released", deferred(1, { reason, attemptBurnt: false, nextAttemptAt }))
      .again("notClaimed");
  });

  test("a store that fails attempt after attempt is asked less and less often, at least every 15 minutes", () => {
    const minutes = [0.5, 1, 2, 4, 8, 15, 15];
    const reason = "content_store_unavailable";
    const before: EmailEvent[] = [];
    for (const [index, wait] of minutes.entries()) {
      const attempt = index + 1;
      const put = deferred(attempt, {
        reason,
        attemptBurnt: false,
        nextAttemptAt: rfc3339(NOW + wait * MINUTE_MS),
      });
      given(...queued, ...before, started(attempt))
        .when((state: EmailState) => releaseLease(state, attempt, reason, context))
        .then("released", put);
      before.push(started(attempt), put);
    }
  });

  test("ends a message whose content is gone", () => {
    given(...queued, started(1))
      .when(release("content_unavailable"))
      .then("released", { type: "EmailFailed", data: { attempt: 1, reason: "content_unavailable" } })
      .again("notClaimed");
  });

  test("ends a message to a recipient who was suppressed since", () => {
    given(...queued, started(1))
      .when(release("suppressed"))
      .then("released", { type: "EmailSuppressed", data: { attempt: 1, reason: "suppressed_since" } })
      .again("notClaimed");
  });

  test("refuses another attempt's claim, and a message that has ended or does not exist", () => {
    given(...queued, started(1), leaseExpired(1), started(2))
      .when(release("suppressed"))
      .then("notClaimed");
    for (const [, events] of [...ENDED, ["never", []] as const])
      given(...events)
        .when(release("sending_paused"))
        .then("notClaimed");
  });
});

describe("expire", () => {
  const expireAt = (now: number) => (state: EmailState) => expire(state, policy, { ...input, now });
  const atEnd = expireAt(END);

  test("ends a waiting message", () => {
    given(...queued)
      .when(atEnd)
      .then("expired", expired(0))
      .again("notDue");
    given(...queued, started(1), deferred(1))
      .when(atEnd)
      .then("expired", expired(1))
      .again("notDue");
  });

  test("leaves a claimed message alone: its outcome is about to come", () => {
    given(...queued, started(1))
      .when(atEnd)
      .then("notDue");
  });

  test("leaves alone a message with time left", () => {
    given(...queued)
      .when(expireAt(END - 1))
      .then("notDue");
  });

  test("leaves alone a message that has ended or does not exist", () => {
    for (const [, events] of [...ENDED, ["never", []] as const])
      given(...events)
        .when(atEnd)
        .then("notDue");
  });
});

describe("resumeHeld", () => {
  const resume = (state: Parameters<typeof resumeHeld>[0]) => resumeHeld(state, NOW);
  const resumedEvent = deferred(1, { reason: "resumed", attemptBurnt: false, nextAttemptAt: rfc3339(NOW) });

  test("resumes a message that waits for later", () => {
    given(...queued, started(1), deferred(1))
      .when(resume)
      .then({ outcome: "resumed", ambiguous: false }, resumedEvent)
      .again({ outcome: "notHeld", ambiguous: false });
  });

  test("says that the next attempt may be a duplicate", () => {
    given(...queued, started(1), leaseExpired(1, END))
      .when(resume)
      .then({ outcome: "resumed", ambiguous: true }, resumedEvent)
      .again({ outcome: "notHeld", ambiguous: false });
  });

  test("still says so after a later attempt has surely delivered nothing", () => {
    given(...queued, started(1), leaseExpired(1), started(2), deferred(2))
      .when(resume)
      .then({ outcome: "resumed", ambiguous: true }, {
        ...resumedEvent,
        data: { ...resumedEvent.data, attempt: 2 },
      } as EmailEvent);
  });

  test("resumes a held message whose time has come, because a pause has moved its end", () => {
    given(...queued, started(1), leaseExpired(1, NOW))
      .when(resume)
      .then({ outcome: "resumed", ambiguous: true }, resumedEvent)
      .again({ outcome: "notHeld", ambiguous: false });
  });

  test("leaves alone a message that is queued, being sent, ended or does not exist", () => {
    const others = [
      ["queued", queued],
      ["sending", [...queued, started(1)]],
      ["never", []],
    ] as const;
    for (const [, events] of [...ENDED, ...others])
      given(...events)
        .when(resume)
        .then({ outcome: "notHeld", ambiguous: false });
  });
});

describe("nextDeliveryAction", () => {
  const at = (now: number, paused = 0): DecisionInput => ({ now, random: 0, pausedMs: paused });
  const action = (events: readonly EmailEvent[], decisionInput: DecisionInput, settings = policy) =>
    nextDeliveryAction(foldOf(emailAggregate, events), decisionInput, settings);

  test("delivers a message that is due, and waits for one that is not", () => {
    expect(action(queued, at(ACCEPTED_AT))).toEqual({ kind: "deliver" });
    const due = NOW + 2 * MINUTE_MS;
    expect(action([...queued, started(1), deferred(1)], at(due - 1))).toEqual({ kind: "wait", until: due });
    expect(action([...queued, started(1), deferred(1)], at(due))).toEqual({ kind: "deliver" });
  });

  test("watches a claim, even past the end of the message's lifetime", () => {
    const watch = { kind: "watchLease", attempt: 1, leaseMs: policy.leaseMs } as const;
    expect(action([...queued, started(1)], at(NOW))).toEqual(watch);
    expect(action([...queued, started(1)], at(END + 1))).toEqual(watch);
  });

  test("ends a message at the end of its lifetime, which pauses extend", () => {
    expect(action(queued, at(END - 1))).toEqual({ kind: "deliver" });
    expect(action(queued, at(END))).toEqual({ kind: "expire" });
    expect(action(queued, at(END, 1))).toEqual({ kind: "deliver" });
    expect(action(queued, at(END + 1, 1))).toEqual({ kind: "expire" });
  });

  test("holds a message that may have been sent to its very end, even if a pause has moved that end", () => {
    const held = [...queued, started(1), leaseExpired(1, END)];
    expect(action(held, at(NOW), hold)).toEqual({ kind: "wait", until: END });
    expect(action(held, at(END, HOUR_MS), hold)).toEqual({ kind: "wait", until: END + HOUR_MS });
    expect(action(held, at(END + HOUR_MS, HOUR_MS), hold)).toEqual({ kind: "expire" });
  });

  test("delivers a held message once somebody resumes it", () => {
    const resumed = deferred(1, { reason: "resumed", attemptBurnt: false, nextAttemptAt: rfc3339(NOW) });
    expect(action([...queued, started(1), leaseExpired(1, END), resumed], at(NOW), hold)).toEqual({
      kind: "deliver",
    });
  });

  test("has nothing to do for a message that has ended", () => {
    for (const [, events] of ENDED) expect(action(events, at(NOW))).toEqual({ kind: "none" });
  });
});

test("a message lives for 72 hours, plus its pauses", () => {
  const state = foldOf(emailAggregate, queued);
  if (state === null) throw new Error("it was not accepted");
  expect(expiresAt(state, DELIVERY_POLICY, 5)).toBe(ACCEPTED_AT + 72 * HOUR_MS + 5);
});

describe("redactRelayReply", () => {
  const SENDER = "shop@example.com";
  const RECIPIENT = "ana.b+c@mail.example.org";
  const MESSAGE = { from: SENDER, to: RECIPIENT, subject: "Hello" };

  test.each([
    [`550 5.1.1 <${RECIPIENT}>: no such user`, "550 5.1.1 <recipient>: no such user"],
    [`550 ${RECIPIENT} unknown, from <${SENDER}>`, "550 <recipient> unknown, from <sender>"],
    [`550 ${RECIPIENT.toUpperCase()} unknown`, "550 <recipient> unknown"],
    ["550 anaXb+c@mail.example.org unknown", "550 <address> unknown"],
    ["250 ok", "250 ok"],
  ])("%s", (reply, expected) => {
    expect(redactRelayReply(reply, MESSAGE)).toBe(expected);
  });

  test("keeps 500 characters, and no half of an address at the cut", () => {
    const reply = redactRelayReply(`${"x".repeat(490)} ${RECIPIENT} ${"y".repeat(100)}`, MESSAGE);
    expect(reply.length).toBeLessThanOrEqual(500);
    expect(reply).not.toContain("ana");
  });

  test("lets neither address through, in whatever case and company (property)", () => {
    const local = fc.stringMatching(/^[a-z0-9!#$%&'*+/=?^_`{|}~-]{1,8}(\.[a-z0-9+_$^-]{1,4})?$/);
    const address = fc
      .tuple(local, fc.constantFrom("example.com", "a.co", "mail.example.co.uk"))
      .map((parts) => parts.join("@"));
    const part = fc.oneof(
      fc.constantFrom("sender", "recipient", "both"),
      fc.string({ maxLength: 12 }).filter((text) => !text.includes("@")),
    );
    const replies = fc.array(fc.tuple(part, fc.infiniteStream(fc.boolean())), { maxLength: 8 });
    fc.assert(
      fc.property(address, address, replies, (sender, recipient, parts) => {
        const words = new Map(Object.entries({ sender, recipient, both: sender + recipient }));
        const reply = parts.map(([word, upper]) => {
          const letters = [...(words.get(word) ?? word)];
          return letters.map((letter) => (upper.next().value ? letter.toUpperCase() : letter)).join("");
        });
        const redacted = redactRelayReply(`550 ${reply.join("")}`, {
          from: sender,
          to: recipient,
          subject: "",
        }).toLowerCase();
        expect(redacted).not.toContain(sender);
        expect(redacted).not.toContain(recipient);
      }),
      { numRuns: 500 },
    );
  });
});
