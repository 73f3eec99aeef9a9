import fc from "fast-check";
import { classifyMailOutcome } from "../../src/domain/email/classifyMailOutcome.ts";
import { eraseContent } from "../../src/domain/email/contentRemoval.ts";
import {
  cancel,
  expire,
  expireLease,
  recordOutcome,
  releaseLease,
  resumeHeld,
  startDelivery,
} from "../../src/domain/email/decisions.ts";
import type { DecisionInput, DeliveryPolicy } from "../../src/domain/email/deliveryPolicy.ts";
import type { EmailEvent } from "../../src/domain/email/events.ts";
import { type Feedback, recordFeedback } from "../../src/domain/email/feedback/recordFeedback.ts";
import { toRecordedAttemptResult } from "../../src/domain/email/recordedAttemptResult.ts";
import { reschedule } from "../../src/domain/email/schedule.ts";
import { deliverFrom, type EmailState, emailDecider } from "../../src/domain/email/state.ts";
import { pauseSending, resumeSending } from "../../src/domain/workspace/decisions.ts";
import { pausedMs, type WorkspaceState, workspaceDecider } from "../../src/domain/workspace/state.ts";
import type { Decision } from "../../src/kernel/event/decider.ts";
import type { MailOutcome, MailStage } from "../../src/kernel/outcome/mailOutcome.ts";
import { type EpochMs, rfc3339, SECOND_MS } from "../../src/kernel/time.ts";

/** When the messages of histories are accepted. */
/** What every message of these histories says of the size of its content. */
export const HISTORY_CONTENT_BYTES = 2;

export const ACCEPTED_AT = Date.parse("2030-01-01T00:00:00Z");

/** What happens to a message. `attemptsAgo` 0 is the newest attempt; older ones are late. */
export type Happening =
  | { readonly kind: "claim"; readonly worker: string }
  | { readonly kind: "outcome"; readonly attemptsAgo: number; readonly outcome: MailOutcome }
  | { readonly kind: "leaseExpires"; readonly attemptsAgo: number }
  | { readonly kind: "giveBack"; readonly attemptsAgo: number; readonly why: LeaseReleaseReason }
  | { readonly kind: "reschedule"; readonly inMs: number }
  | { readonly kind: "expire" | "cancel" | "resumeHeld" | "pause" | "unpause" | "erase" };

export type LeaseReleaseReason = Parameters<typeof releaseLease>[2];

/** A happening, how long after the one before, and with what luck. */
export interface Step {
  readonly happening: Happening;
  readonly waitMs: number;
  readonly random: number;
}

/** What one step came to. */
export interface StepTaken {
  readonly step: Step;
  readonly now: EpochMs;
  readonly input: DecisionInput;
  readonly before: EmailState;
  readonly after: EmailState;
  readonly outcome: unknown;
  readonly events: readonly EmailEvent[];
  /** The attempt that the step was about; 0 when about none. */
  readonly attempt: number;
}

export interface History {
  /** The whole stream, with the time of each event. */
  readonly events: readonly { readonly at: EpochMs; readonly event: EmailEvent }[];
  readonly steps: readonly StepTaken[];
  readonly state: EmailState;
  readonly workspace: WorkspaceState;
  readonly now: EpochMs;
}

const stages = fc.constantFrom<MailStage>("connect", "mail", "rcpt", "data", "final");
const replies = fc.constantFrom(
  "250 2.0.0 queued",
  "421 4.7.0 too busy",
  "450 4.2.0 greylisted",
  "451 4.3.0 system trouble",
  "550 5.1.1 no such user",
  "552 5.2.2 full",
  "553 5.1.8 bad sender",
  "550 5.7.1 refused",
  "535 5.7.8 who are you",
  "554 no",
);

/** Everything that a transport can say. */
export const mailOutcomes: fc.Arbitrary<MailOutcome> = fc.oneof(
  fc.constant<MailOutcome>({ kind: "accepted", reply: "250 2.0.0 queued" }),
  fc
    .record({ stage: stages, reply: replies.filter((reply) => !reply.startsWith("2")) })
    .map(({ stage, reply }): MailOutcome => {
      return { kind: "refused", stage, code: Number(reply.slice(0, 3)), reply };
    }),
  stages.map((stage): MailOutcome => ({ kind: "broken", stage, reason: "connection lost" })),
  fc.constant<MailOutcome>({ kind: "unknown", reason: "no answer to the final dot" }),
  fc.constant<MailOutcome>({ kind: "outOfTime" }),
);

const attemptsAgo = fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(3) });
const whys = fc.constantFrom<LeaseReleaseReason>(
  "sending_paused",
  "sender_unavailable",
  "content_unavailable",
  "store_unavailable",
  "suppressed",
);

const happenings: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom("a", "b", "c").map((worker): Happening => ({ kind: "claim", worker })),
  },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("outcome" as const), attemptsAgo, outcome: mailOutcomes }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("leaseExpires" as const), attemptsAgo }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("giveBack" as const), attemptsAgo, why: whys }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Happening>(
      { kind: "expire" },
      { kind: "cancel" },
      { kind: "resumeHeld" },
      { kind: "pause" },
      { kind: "unpause" },
    ),
  },
  { weight: 1, arbitrary: fc.constant<Happening>({ kind: "erase" }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("reschedule" as const),
      inMs: fc.integer({ min: -60_000, max: 60_000_000 }),
    }),
  },
);

/** Steps of every kind, most of them soon after each other and some of them days later. */
export const stepsArbitrary: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    happening: happenings,
    waitMs: fc.oneof(
      { weight: 6, arbitrary: fc.nat(300_000) },
      { weight: 1, arbitrary: fc.nat(40 * 3_600_000) },
    ),
    random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  }),
  { maxLength: 25, size: "max" },
);

/** How a message is accepted. */
export interface Accepting {
  readonly as?: "queued" | "scheduled" | "suppressed";
  /** Of a message that is scheduled: how long after its acceptance it is due. */
  readonly dueInMs?: number;
  readonly at?: EpochMs;
  readonly workspaceId?: string;
  readonly senderId?: string;
  readonly authorityId?: string | undefined;
  readonly recipientHash?: string;
  readonly templateId?: string | undefined;
  readonly tagHashes?: readonly string[];
}

/** The events that accept a message. */
export function acceptance(accepting: Accepting = {}): readonly EmailEvent[] {
  const { as = "queued", at = ACCEPTED_AT, dueInMs = 0 } = accepting;
  const { workspaceId = "workspace", senderId = "sender", recipientHash = "recipient" } = accepting;
  const accepted = {
    workspaceId,
    senderId,
    ...(accepting.authorityId === undefined ? {} : { authorityId: accepting.authorityId }),
    recipientHash,
    fingerprint: "fingerprint",
    acceptedAt: rfc3339(at),
    contentEventId: crypto.randomUUID(),
    contentDigest: "digest",
    contentBytes: HISTORY_CONTENT_BYTES,
    ...(accepting.tagHashes === undefined ? {} : { tagHashes: [...accepting.tagHashes] }),
    ...(accepting.templateId === undefined ? {} : { templateId: accepting.templateId }),
  };
  const content = { from: "shop@example.com", to: "ana@example.org", subject: "Hello", text: "Hello" };
  return [
    { type: "EmailContentStored", data: { salt: "salt", content } },
    acceptanceEvent(as, accepted, rfc3339(at + dueInMs)),
  ];
}

type Accepted = Extract<EmailEvent, { type: "EmailQueued" }>["data"];

function acceptanceEvent(as: Accepting["as"], accepted: Accepted, scheduledAt: string): EmailEvent {
  if (as === "scheduled") return { type: "EmailScheduled", data: { ...accepted, scheduledAt } };
  if (as === "queued") return { type: "EmailQueued", data: accepted };
  return { type: "EmailSuppressed", data: { ...accepted, reason: "recipient_suppressed" } };
}

interface Decided {
  readonly attempt: number;
  readonly decision: Decision<unknown, EmailEvent>;
}

interface DecideOn {
  readonly policy: DeliveryPolicy;
  readonly input: DecisionInput;
}

/** What the message decides of a happening, always on its newest state: the expected revision sees to that. */
function decideOn(state: EmailState, happening: Happening, on: DecideOn): Decided {
  const ago = "attemptsAgo" in happening ? happening.attemptsAgo : 0;
  const attempt = Math.max(0, (state?.attempts ?? 0) - ago);
  const nothing: Decision<unknown, EmailEvent> = { outcome: null, events: [] };
  if ("attemptsAgo" in happening && attempt === 0) return { attempt, decision: nothing };
  switch (happening.kind) {
    case "claim": {
      const request = { worker: happening.worker, transport: "smtp", leaseMs: on.policy.leaseMs };
      return { attempt: attempt + 1, decision: startDelivery(state, request) };
    }
    case "outcome": {
      const result = toRecordedAttemptResult(classifyMailOutcome(happening.outcome), () => "sealed", []);
      return { attempt, decision: recordOutcome(state, attempt, result, { ...on, transport: "smtp" }) };
    }
    case "leaseExpires":
      return { attempt, decision: expireLease(state, attempt, on.policy, on.input) };
    case "giveBack":
      return { attempt, decision: releaseLease(state, attempt, happening.why, on) };
    case "expire":
      return { attempt: 0, decision: expire(state, on.policy, on.input) };
    case "cancel":
      return { attempt: 0, decision: cancel(state) };
    case "erase":
      return { attempt: 0, decision: eraseContent(state, { reason: "requested" }) };
    case "reschedule":
      return {
        attempt: 0,
        decision: reschedule(state, on.input.now + happening.inMs, on.input.now),
      };
    case "resumeHeld":
      return { attempt: 0, decision: resumeHeld(state, on.input.now) };
    default:
      return { attempt: 0, decision: nothing };
  }
}

function decideWorkspace(workspace: WorkspaceState, kind: Happening["kind"], now: EpochMs): WorkspaceState {
  if (kind !== "pause" && kind !== "unpause") return workspace;
  const { events } = kind === "pause" ? pauseSending(workspace, now) : resumeSending(workspace, now);
  return events.reduce(workspaceDecider.evolve, workspace);
}

/** Takes the steps one after the other, each decided on what the ones before have made of the message. */
export function play(steps: readonly Step[], policy: DeliveryPolicy, accepting: Accepting = {}): History {
  const acceptedAt = accepting.at ?? ACCEPTED_AT;
  const events = acceptance(accepting).map((event) => ({ at: acceptedAt, event }));
  let state = events.reduce<EmailState>((folded, { event }) => emailDecider.evolve(folded, event), null);
  let workspace: WorkspaceState = { name: "shop", paused: false, pauses: [], limits: {} };
  let now = acceptedAt;
  const taken: StepTaken[] = [];
  for (const step of steps) {
    now += step.waitMs;
    workspace = decideWorkspace(workspace, step.happening.kind, now);
    const input = {
      now,
      random: step.random,
      pausedMs: pausedMs(workspace, state === null ? now : deliverFrom(state), now),
    };
    const { attempt, decision } = decideOn(state, step.happening, { policy, input });
    const after = decision.events.reduce(emailDecider.evolve, state);
    taken.push({ step, now, input, before: state, after, attempt, ...decision });
    for (const event of decision.events) events.push({ at: now, event });
    state = after;
  }
  return { events, steps: taken, state, workspace, now };
}

/** What somebody tells of a message when its own story is over; nothing more often than not. */
export const tellings: fc.Arbitrary<readonly Feedback[]> = fc.oneof(
  fc.constant([]),
  fc.array(
    fc.constantFrom<Feedback>(
      { kind: "delivered" },
      { kind: "bounced", reason: "mailbox_full" },
      { kind: "complained", feedbackType: "abuse" },
    ),
    { maxLength: 3 },
  ),
);

/** The history with what is told behind it, a second apart. */
export function withTold(history: History, told: readonly Feedback[]): History {
  const events = [...history.events];
  let { state, now } = history;
  for (const one of told) {
    now += SECOND_MS;
    for (const event of recordFeedback(state, one, "api").events) {
      events.push({ at: now, event });
      state = emailDecider.evolve(state, event);
    }
  }
  return { ...history, events, state, now };
}
