import fc from "fast-check";
import { eraseContent } from "../../src/domain/email/contentErasure.ts";
import {
  cancel,
  expire,
  expireLease,
  recordOutcome,
  recordSentByOperator,
  releaseLease,
  resumeHeld,
  startDelivery,
} from "../../src/domain/email/decisions.ts";
import { classifyMailOutcome } from "../../src/domain/email/delivery/classifyMailOutcome.ts";
import type { DecisionInput, DeliveryPolicy } from "../../src/domain/email/delivery/deliveryPolicy.ts";
import { encryptRelayReply } from "../../src/domain/email/delivery/encryptRelayReply.ts";
import { type EmailEvent, UNTIL_FINAL_STATUS } from "../../src/domain/email/events.ts";
import { type Feedback, recordFeedback } from "../../src/domain/email/feedback/feedbackDecision.ts";
import { reschedule } from "../../src/domain/email/scheduledTime.ts";
import { deliverFrom, type EmailState, emailDecider } from "../../src/domain/email/state.ts";
import { pauseSending, resumeSending } from "../../src/domain/workspace/decisions.ts";
import { pausedMs, type WorkspaceState, workspaceDecider } from "../../src/domain/workspace/state.ts";
import type { Decision } from "../../src/kernel/event/decider.ts";
import type { MailOutcome, MailStage } from "../../src/kernel/outcome/mailOutcome.ts";
import { type EpochMs, rfc3339, SECOND_MS } from "../../src/kernel/time.ts";

/** The content size recorded for every message of these histories. */
export const HISTORY_CONTENT_BYTES = 2;

/** When the messages of these histories are accepted. */
export const ACCEPTED_AT = Date.parse("2030-01-01T00:00:00Z");

/** Something that happens to a message. `attemptsAgo` 0 is the newest attempt; outcomes of older ones come late. */
export type EmailAction =
  | { readonly kind: "claim"; readonly worker: string }
  | { readonly kind: "outcome"; readonly attemptsAgo: number; readonly outcome: MailOutcome }
  | { readonly kind: "leaseExpires"; readonly attemptsAgo: number }
  | { readonly kind: "releaseLease"; readonly attemptsAgo: number; readonly reason: LeaseReleaseReason }
  | { readonly kind: "reschedule"; readonly inMs: number }
  | { readonly kind: "expire" | "cancel" | "resumeHeld" | "recordSent" | "pause" | "unpause" | "erase" };

export type LeaseReleaseReason = Parameters<typeof releaseLease>[2];

/** An action, the time since the one before, and the random number for it. */
export interface Step {
  readonly action: EmailAction;
  readonly waitMs: number;
  readonly random: number;
}

/** A step, and its result. */
export interface AppliedStep {
  readonly step: Step;
  readonly now: EpochMs;
  readonly input: DecisionInput;
  readonly before: EmailState;
  readonly after: EmailState;
  readonly outcome: unknown;
  readonly events: readonly EmailEvent[];
  /** The attempt that the step concerns; 0 if none. */
  readonly attempt: number;
}

export interface History {
  /** The whole stream, with the time of each event. */
  readonly events: readonly { readonly at: EpochMs; readonly event: EmailEvent }[];
  readonly steps: readonly AppliedStep[];
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

/** All outcomes that a transport can return. */
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
const releaseReasons = fc.constantFrom<LeaseReleaseReason>(
  "sending_paused",
  "sender_unavailable",
  "content_unavailable",
  "content_store_unavailable",
  "store_unavailable",
  "suppressed",
);

const actions: fc.Arbitrary<EmailAction> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom("a", "b", "c").map((worker): EmailAction => ({ kind: "claim", worker })),
  },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("outcome" as const), attemptsAgo, outcome: mailOutcomes }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("leaseExpires" as const), attemptsAgo }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("releaseLease" as const), attemptsAgo, reason: releaseReasons }),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom<EmailAction>(
      { kind: "expire" },
      { kind: "cancel" },
      { kind: "resumeHeld" },
      { kind: "pause" },
      { kind: "unpause" },
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom<EmailAction>({ kind: "erase" }, { kind: "recordSent" }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("reschedule" as const),
      inMs: fc.integer({ min: -60_000, max: 60_000_000 }),
    }),
  },
);

/** Steps of every kind: most follow within minutes, some after days. */
export const stepsArbitrary: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    action: actions,
    waitMs: fc.oneof(
      { weight: 6, arbitrary: fc.nat(300_000) },
      { weight: 1, arbitrary: fc.nat(40 * 3_600_000) },
    ),
    random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  }),
  { maxLength: 25, size: "max" },
);

/** How a message is accepted. */
export interface AcceptanceOptions {
  readonly as?: "queued" | "scheduled" | "suppressed";
  /** For a scheduled message: how long after its acceptance it is due. */
  readonly dueInMs?: number;
  readonly at?: EpochMs;
  readonly workspaceId?: string;
  readonly senderId?: string;
  readonly authorityId?: string | undefined;
  readonly recipientHash?: string;
  readonly templateId?: string | undefined;
  readonly templateVersionId?: string | undefined;
  /** The message whose content it has again. */
  readonly againOf?: string | undefined;
  readonly tagHashes?: readonly string[];
  readonly metadataHashes?: readonly string[];
  /** How long after its acceptance its deadline is. */
  readonly deadlineInMs?: number;
  /** Whether its send asked for the erasure of its content at its end. */
  readonly isErasedAtEnd?: boolean;
}

/** The events that accept a message. */
export function acceptance(options: AcceptanceOptions = {}): readonly EmailEvent[] {
  const { as = "queued", at = ACCEPTED_AT, dueInMs = 0 } = options;
  const { workspaceId = "workspace", senderId = "sender", recipientHash = "recipient" } = options;
  const accepted = {
    workspaceId,
    senderId,
    ...(options.authorityId === undefined ? {} : { authorityId: options.authorityId }),
    recipientHash,
    fingerprint: "fingerprint",
    acceptedAt: rfc3339(at),
    contentEventId: crypto.randomUUID(),
    contentDigest: "digest",
    contentBytes: HISTORY_CONTENT_BYTES,
    ...(options.tagHashes === undefined ? {} : { tagHashes: [...options.tagHashes] }),
    ...(options.metadataHashes === undefined ? {} : { metadataHashes: [...options.metadataHashes] }),
    ...(options.templateId === undefined ? {} : { templateId: options.templateId }),
    ...(options.templateVersionId === undefined ? {} : { templateVersionId: options.templateVersionId }),
    ...(options.againOf === undefined ? {} : { againOf: options.againOf }),
    ...(options.deadlineInMs === undefined ? {} : { deliverBefore: rfc3339(at + options.deadlineInMs) }),
    ...(options.isErasedAtEnd ? { contentRetention: UNTIL_FINAL_STATUS } : {}),
  };
  const content = { from: "shop@example.com", to: "ana@example.org", subject: "Hello", text: "Hello" };
  return [
    { type: "EmailContentStored", data: { salt: "salt", content } },
    acceptanceEvent(as, accepted, rfc3339(at + dueInMs)),
  ];
}

type Accepted = Extract<EmailEvent, { type: "EmailQueued" }>["data"];

function acceptanceEvent(as: AcceptanceOptions["as"], accepted: Accepted, scheduledAt: string): EmailEvent {
  if (as === "scheduled") return { type: "EmailScheduled", data: { ...accepted, scheduledAt } };
  if (as === "queued") return { type: "EmailQueued", data: accepted };
  return { type: "EmailSuppressed", data: { ...accepted, reason: "recipient_suppressed" } };
}

interface DecidedAction {
  readonly attempt: number;
  readonly decision: Decision<unknown, EmailEvent>;
}

interface DecisionContext {
  readonly policy: DeliveryPolicy;
  readonly input: DecisionInput;
}

/** The message's decision on an action, always on its newest state, as the expected revision ensures. */
function decide(state: EmailState, action: EmailAction, context: DecisionContext): DecidedAction {
  const attemptsBack = "attemptsAgo" in action ? action.attemptsAgo : 0;
  const attempt = Math.max(0, (state?.attempts ?? 0) - attemptsBack);
  const noChange: Decision<unknown, EmailEvent> = { outcome: null, events: [] };
  if ("attemptsAgo" in action && attempt === 0) return { attempt, decision: noChange };
  switch (action.kind) {
    case "claim": {
      const request = { worker: action.worker, transport: "smtp", leaseMs: context.policy.leaseMs };
      return { attempt: attempt + 1, decision: startDelivery(state, request, context.input.now) };
    }
    case "outcome": {
      const result = encryptRelayReply(classifyMailOutcome(action.outcome), () => "sealed", []);
      return { attempt, decision: recordOutcome(state, attempt, result, { ...context, transport: "smtp" }) };
    }
    case "leaseExpires":
      return { attempt, decision: expireLease(state, attempt, context.policy, context.input) };
    case "releaseLease":
      return { attempt, decision: releaseLease(state, attempt, action.reason, context) };
    case "expire":
      return { attempt: 0, decision: expire(state, context.policy, context.input) };
    case "cancel":
      return { attempt: 0, decision: cancel(state) };
    case "erase":
      return { attempt: 0, decision: eraseContent(state, { reason: "requested" }) };
    case "reschedule":
      return {
        attempt: 0,
        decision: reschedule(state, context.input.now + action.inMs, context.input.now),
      };
    case "recordSent":
      return { attempt: 0, decision: recordSentByOperator(state) };
    case "resumeHeld":
      return { attempt: 0, decision: resumeHeld(state, context.input.now) };
    default:
      return { attempt: 0, decision: noChange };
  }
}

function decideWorkspace(workspace: WorkspaceState, kind: EmailAction["kind"], now: EpochMs): WorkspaceState {
  if (kind !== "pause" && kind !== "unpause") return workspace;
  const { events } = kind === "pause" ? pauseSending(workspace, now) : resumeSending(workspace, now);
  return events.reduce(workspaceDecider.evolve, workspace);
}

/** Applies the steps one after another, each to the state that the ones before have left. */
export function play(
  steps: readonly Step[],
  policy: DeliveryPolicy,
  options: AcceptanceOptions = {},
): History {
  const acceptedAt = options.at ?? ACCEPTED_AT;
  const events = acceptance(options).map((event) => ({ at: acceptedAt, event }));
  let state = events.reduce<EmailState>((folded, { event }) => emailDecider.evolve(folded, event), null);
  let workspace: WorkspaceState = {
    name: "shop",
    paused: false,
    pauseRate: null,
    rateResumedAt: null,
    pauses: [],
    limits: {},
  };
  let now = acceptedAt;
  const applied: AppliedStep[] = [];
  for (const step of steps) {
    now += step.waitMs;
    workspace = decideWorkspace(workspace, step.action.kind, now);
    const input = {
      now,
      random: step.random,
      pausedMs: pausedMs(workspace, state === null ? now : deliverFrom(state), now),
    };
    const { attempt, decision } = decide(state, step.action, { policy, input });
    const after = decision.events.reduce(emailDecider.evolve, state);
    applied.push({ step, now, input, before: state, after, attempt, ...decision });
    for (const event of decision.events) events.push({ at: now, event });
    state = after;
  }
  return { events, steps: applied, state, workspace, now };
}

/** Feedback that arrives after a message's own history; mostly none. */
export const feedbackLists: fc.Arbitrary<readonly Feedback[]> = fc.oneof(
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

/** The history followed by the feedback, one second apart. */
export function withFeedback(history: History, feedback: readonly Feedback[]): History {
  const events = [...history.events];
  let { state, now } = history;
  for (const item of feedback) {
    now += SECOND_MS;
    for (const event of recordFeedback(state, item, "api").events) {
      events.push({ at: now, event });
      state = emailDecider.evolve(state, event);
    }
  }
  return { ...history, events, state, now };
}

/** The history, and one second later the outcome of its first attempt if it is not in the log yet: a relay took it. */
export function withLateSent(history: History, policy: DeliveryPolicy): History {
  if ((history.state?.attempts ?? 0) === 0) return history;
  const now = history.now + SECOND_MS;
  const context = { policy, input: { now, random: 0, pausedMs: 0 }, transport: "smtp" };
  const { events } = recordOutcome(history.state, 1, { kind: "sent", codes: "250" }, context);
  const recorded = events.map((event) => ({ at: now, event }));
  const state = events.reduce(emailDecider.evolve, history.state);
  return { ...history, events: [...history.events, ...recorded], state, now };
}
