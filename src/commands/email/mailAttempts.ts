import {
  type ClaimRequest,
  expire,
  expireLease,
  type RecordingInput,
  recordOutcome,
  releaseLease,
  startDelivery,
} from "../../domain/email/decisions.ts";
import type { RecordedAttemptResult } from "../../domain/email/delivery/encryptRelayReply.ts";
import { type EmailEvent, emailStream } from "../../domain/email/events.ts";
import { type Feedback, recordFeedback } from "../../domain/email/feedback/feedbackDecision.ts";
import { type EmailState, emailDecider } from "../../domain/email/state.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { type Decision, decided } from "../../kernel/event/decider.ts";
import type { EventStore, Position } from "../../ports/eventStore.ts";
import { emailAggregate } from "../aggregateDefinitions.ts";
import { toNewEvents, transact, transactFrom } from "../transact.ts";

interface EmailAtRevision {
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

/**
 * Claims a message as it was read. Null if somebody else was first, if it no longer waits, or if its deadline has passed.
 * Throws `StoreError`.
 */
export async function claimEmail(
  store: EventStore,
  email: EmailAtRevision,
  request: ClaimRequest,
  context: WorkspaceCommandContext,
): Promise<ClaimedEmail | null> {
  const { outcome: attempt, events } = startDelivery(email.state, request, context.at);
  if (attempt === null) return null;
  const result = await store.append(emailStream(email.id), toNewEvents(events, context), email.revision);
  if (result.outcome !== "appended") return null;
  const state = events.reduce(emailDecider.evolve, email.state);
  return { id: email.id, state, revision: result.revision, position: result.position, attempt };
}

/** Appends what `decide` returns. The known revision is still current unless somebody took over. */
function record(
  store: EventStore,
  email: EmailAtRevision,
  decide: (state: EmailState) => Decision<unknown, EmailEvent>,
  context: WorkspaceCommandContext,
): Promise<void> {
  return transactFrom(store, { ...emailAggregate.of(email.id), ...email }, decide, context);
}

/** What an outcome is decided and recorded with. */
export interface MailRecording extends RecordingInput {
  readonly context: WorkspaceCommandContext;
}

/** Records the outcome of an attempt, even a late one: no outcome is dropped. On `StoreError`, try again. */
export function recordMailAttempt(
  store: EventStore,
  email: ClaimedEmail,
  result: RecordedAttemptResult,
  recording: MailRecording,
): Promise<void> {
  const decide = (state: EmailState) => recordOutcome(state, email.attempt, result, recording);
  return record(store, email, decide, recording.context);
}

/**
 * Records the outcome of a simulated attempt and the feedback on it in one append, so no crash can separate them. On
 * `StoreError`, try again.
 */
export function recordSimulatedAttempt(
  store: EventStore,
  email: ClaimedEmail,
  { result, feedback }: { readonly result: RecordedAttemptResult; readonly feedback: Feedback | null },
  recording: MailRecording,
): Promise<void> {
  const decide = (state: EmailState) => {
    const { outcome, events } = recordOutcome(state, email.attempt, result, recording);
    if (feedback === null) return { outcome, events };
    const after = events.reduce(emailDecider.evolve, state);
    return { outcome, events: [...events, ...recordFeedback(after, feedback, "simulator").events] };
  };
  return record(store, email, decide, recording.context);
}

type LeaseReleaseReason = Parameters<typeof releaseLease>[2];

/** Releases a claim that may not deliver after all. */
export function releaseEmailLease(
  store: EventStore,
  email: ClaimedEmail,
  why: LeaseReleaseReason,
  recording: MailRecording,
): Promise<void> {
  const decide = (state: EmailState) => releaseLease(state, email.attempt, why, recording);
  return record(store, email, decide, recording.context);
}

/** Releases this worker's claim, if the log has one: it could not confirm the claim, so it has sent nothing. */
export function releaseUnconfirmedClaim(
  store: EventStore,
  id: string,
  worker: string,
  recording: MailRecording,
) {
  const decide = (state: EmailState): Decision<"released" | "notClaimed", EmailEvent> =>
    state?.claim?.worker === worker
      ? releaseLease(state, state.claim.attempt, "store_unavailable", recording)
      : decided("notClaimed");
  return transact(store, emailAggregate.of(id), decide, recording.context);
}

/** Ends a claim whose lease expired without an outcome: its delivery is unknown. */
export function expireEmailLease(store: EventStore, id: string, attempt: number, recording: MailRecording) {
  const { policy, input, context } = recording;
  const decide = (state: EmailState) => expireLease(state, attempt, policy, input);
  return transact(store, emailAggregate.of(id), decide, context);
}

/** Ends a message if its lifetime is over, decided again if its stream has changed since it was read. */
export function expireEmail(
  store: EventStore,
  email: EmailAtRevision,
  { policy, input, context }: MailRecording,
): Promise<void> {
  return record(store, email, (state) => expire(state, policy, input), context);
}
