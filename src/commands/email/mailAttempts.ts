import {
  type ClaimRequest,
  expire,
  expireLease,
  recordOutcome,
  releaseLease,
  resumeHeld,
  startDelivery,
} from "../../domain/email/decisions.ts";
import type { DecisionInput, DeliveryPolicy } from "../../domain/email/deliveryPolicy.ts";
import { type EmailEvent, emailStream } from "../../domain/email/events.ts";
import { type Feedback, recordFeedback } from "../../domain/email/feedback/recordFeedback.ts";
import type { RecordedAttemptResult, RecordedReply } from "../../domain/email/recordedAttemptResult.ts";
import { type EmailState, emailDecider } from "../../domain/email/state.ts";
import { suppress } from "../../domain/suppression/decisions.ts";
import { type SUPPRESSION_REASONS, suppressionStream } from "../../domain/suppression/events.ts";
import type { Decision } from "../../kernel/event/decider.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/eventMetadata.ts";
import type { EventStore, Position } from "../../ports/eventStore.ts";
import { emailAggregate, suppressionAggregate } from "../aggregateDefinitions.ts";
import { erasePersonsSuppression } from "../erasure/erasePersonalEvents.ts";
import { load, toNewEvents, transact } from "../transact.ts";

/** A message at a known revision. */
export interface EmailAtRevision {
  readonly id: string;
  readonly state: EmailState;
  readonly revision: number;
}

/** A message that this worker alone may deliver, for as long as its lease lasts. */
export interface ClaimedEmail extends EmailAtRevision {
  readonly attempt: number;
  /** The position of the claim in the log. */
  readonly position: Position;
}

/** Claims a message as it was read. Null: somebody else was first, or it no longer waits. Throws `StoreError`. */
export async function claimEmail(
  store: EventStore,
  email: EmailAtRevision,
  request: ClaimRequest,
  context: WorkspaceCommandContext,
): Promise<ClaimedEmail | null> {
  const { outcome: attempt, events } = startDelivery(email.state, request);
  if (attempt === null) return null;
  const result = await store.append(emailStream(email.id), toNewEvents(events, context), email.revision);
  if (result.outcome !== "appended") return null;
  const state = events.reduce(emailDecider.evolve, email.state);
  return { id: email.id, state, revision: result.revision, position: result.position, attempt };
}

type Decide = (state: EmailState) => Decision<unknown, EmailEvent>;

/**
 * Appends what `decide` says of a claimed message: at the claim's revision, which holds unless somebody took
 * over, and otherwise at whatever the stream has become.
 */
async function record(
  store: EventStore,
  email: EmailAtRevision,
  decide: Decide,
  context: WorkspaceCommandContext,
): Promise<void> {
  const { events } = decide(email.state);
  if (events.length === 0) return;
  const stream = emailStream(email.id);
  const result = await store.append(stream, toNewEvents(events, context), email.revision);
  if (result.outcome === "appended") return;
  await transact(store, { ...emailAggregate, stream }, decide, context);
}

interface Recording {
  readonly policy: DeliveryPolicy;
  readonly input: DecisionInput;
  readonly transport: string;
  readonly context: WorkspaceCommandContext;
}

/** Records what became of an attempt, even late: an outcome is never dropped. Throws `StoreError`: try again. */
export function recordMailAttempt(
  store: EventStore,
  email: ClaimedEmail,
  result: RecordedAttemptResult,
  on: Recording,
): Promise<void> {
  return record(store, email, (state) => recordOutcome(state, email.attempt, result, on), on.context);
}

/**
 * Records what became of an attempt that the simulator has made, and the feedback on it in one append: no crash
 * leaves one without the other. Throws `StoreError`: try again.
 */
export function recordSimulatedAttempt(
  store: EventStore,
  email: ClaimedEmail,
  { result, feedback }: { readonly result: RecordedAttemptResult; readonly feedback: Feedback | null },
  on: Recording,
): Promise<void> {
  const decide = (state: EmailState) => {
    const { outcome, events } = recordOutcome(state, email.attempt, result, on);
    if (feedback === null) return { outcome, events };
    const after = events.reduce(emailDecider.evolve, state);
    return { outcome, events: [...events, ...recordFeedback(after, feedback, "simulator").events] };
  };
  return record(store, email, decide, on.context);
}

type LeaseReleaseReason = Parameters<typeof releaseLease>[2];

/** Ends a claim that the log does not allow after all. */
export function releaseEmailLease(
  store: EventStore,
  email: ClaimedEmail,
  why: LeaseReleaseReason,
  on: Recording,
): Promise<void> {
  return record(store, email, (state) => releaseLease(state, email.attempt, why, on), on.context);
}

/** Declares a claim ambiguous whose lease ran out with no outcome. */
export function expireEmailLease(
  store: EventStore,
  id: string,
  attempt: number,
  on: Omit<Recording, "transport">,
) {
  const aggregate = emailAggregate.of(id);
  return transact(store, aggregate, (state) => expireLease(state, attempt, on.policy, on.input), on.context);
}

/** Ends a message whose time is over. */
export function expireEmail(
  store: EventStore,
  email: EmailAtRevision,
  context: WorkspaceCommandContext,
): Promise<void> {
  return record(store, email, expire, context);
}

/** How often callers may let one message go on at once: else they could try a server without end. */
const RESUMES_PER_DAY_MAX = 100;

/** Lets a held message go on. Throws `ChangeRateError` when a caller has done so too often. */
export function resumeEmail(store: EventStore, id: string, context: WorkspaceCommandContext) {
  const aggregate = {
    ...emailAggregate.of(id),
    changesPerDayMax: RESUMES_PER_DAY_MAX,
  };
  return transact(store, aggregate, (state) => resumeHeld(state, context.at), context);
}

/** What a bounce or a complaint says about its recipient. */
export interface RecipientToSuppress extends RecordedReply {
  readonly workspaceId: string;
  readonly recipientHash: string;
  /** Null once it was erased with the message. */
  readonly address: string | null;
  readonly emailId: string;
  readonly reason: Exclude<(typeof SUPPRESSION_REASONS)[number], "manual">;
  readonly bounceReason?: string;
}

/**
 * Suppresses the recipient of a message that bounced or was reported. A repeat gives no events. The address may have
 * been read a while ago, so whoever was erased since then stays erased.
 */
export async function suppressRecipient(
  store: EventStore,
  recipient: RecipientToSuppress,
  context: WorkspaceCommandContext,
): Promise<void> {
  const { address, ...facts } = recipient;
  const stream = suppressionStream(recipient.recipientHash);
  const stored = address === null ? null : { address, salt: crypto.randomUUID() };
  const decide = (state: Parameters<typeof suppress>[0]) => suppress(state, stored, facts);
  await transact(store, { ...suppressionAggregate, stream }, decide, context);
  if (stored !== null) await keepErased(store, recipient, context);
}

/**
 * Erases the address again that a suppression has just brought back. An erasure takes the message first and looks for
 * suppressions then: either it has found this one, or the message is found erased here.
 */
async function keepErased(
  store: EventStore,
  { emailId, recipientHash }: RecipientToSuppress,
  context: WorkspaceCommandContext,
): Promise<void> {
  const { state: email } = await load(store, emailAggregate.of(emailId));
  const erasureId = email?.erasedFor?.erasureId;
  if (erasureId === undefined) return;
  const { state: suppression } = await load(store, suppressionAggregate.of(recipientHash));
  // One of somebody else, or a newer one, was not brought back by us.
  if (suppression?.emailId === emailId)
    await erasePersonsSuppression(store, recipientHash, erasureId, context);
}
