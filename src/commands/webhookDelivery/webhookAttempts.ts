import type { WebhookAttemptResult } from "../../domain/webhookDelivery/classifyWebhookOutcome.ts";
import {
  type AttemptFacts,
  type AttemptRequest,
  expireAttempt,
  recordAttempt,
  skipDelivery,
  startAttempt,
} from "../../domain/webhookDelivery/decisions.ts";
import {
  type DeliveryOrigin,
  type WebhookDeliveryEvent,
  webhookDeliveryStream,
} from "../../domain/webhookDelivery/events.ts";
import type { DecisionInput, WebhookPolicy } from "../../domain/webhookDelivery/retrySchedule.ts";
import { type WebhookDeliveryState, webhookDeliveryDecider } from "../../domain/webhookDelivery/state.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { type Decision, decided } from "../../kernel/event/decider.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { webhookDeliveryAggregate } from "../aggregateDefinitions.ts";
import { toNewEvents, transact, transactFrom } from "../transact.ts";
import type { WebhookDeliveryAtRevision } from "./readWebhookDelivery.ts";

const NOT_CONFIRMED: WebhookAttemptResult = { kind: "ours", reason: "store_unavailable" };

/** A delivery that this worker alone may attempt, for as long as its lease lasts. */
export interface ClaimedWebhook extends WebhookDeliveryAtRevision {
  readonly attempt: number;
}

/** Claims a delivery as it was read. Null if somebody else was first, or it is not due. Throws `StoreError`. */
export async function claimWebhook(
  store: EventStore,
  delivery: WebhookDeliveryAtRevision,
  request: AttemptRequest,
  context: WorkspaceCommandContext,
): Promise<ClaimedWebhook | null> {
  const { outcome: attempt, events } = startAttempt(delivery.state, request, context.at);
  if (attempt === null) return null;
  const stream = webhookDeliveryStream(delivery.id);
  const expected = delivery.revision ?? "noStream";
  const result = await store.append(stream, toNewEvents(events, context), expected);
  if (result.outcome !== "appended") return null;
  const state = events.reduce(webhookDeliveryDecider.evolve, delivery.state);
  return { id: delivery.id, state, revision: result.revision, attempt };
}

/** What an outcome is decided and recorded with. */
export interface WebhookRecording {
  readonly policy: WebhookPolicy;
  readonly input: DecisionInput;
  readonly context: WorkspaceCommandContext;
}

/** Records the outcome of an attempt, even a late one. Throws `StoreError`. */
export function recordWebhookAttempt(
  store: EventStore,
  claimed: ClaimedWebhook,
  { result, facts }: { readonly result: WebhookAttemptResult; readonly facts: AttemptFacts },
  recording: WebhookRecording,
): Promise<void> {
  const decide = (state: WebhookDeliveryState) =>
    recordAttempt(state, claimed.attempt, result, { ...recording, facts });
  return transactFrom(
    store,
    { ...webhookDeliveryAggregate.of(claimed.id), ...claimed },
    decide,
    recording.context,
  );
}

/** Releases this worker's claim, if the log has one: it could not confirm the claim, so it has called nobody. */
export function releaseUnconfirmedWebhookClaim(
  store: EventStore,
  id: string,
  worker: string,
  recording: WebhookRecording,
) {
  const decide = (state: WebhookDeliveryState): Decision<"recorded" | "notClaimed", WebhookDeliveryEvent> =>
    state?.claim?.worker === worker
      ? recordAttempt(state, state.claim.attempt, NOT_CONFIRMED, { ...recording, facts: { durationMs: 0 } })
      : decided("notClaimed");
  return transact(store, webhookDeliveryAggregate.of(id), decide, recording.context);
}

/** Ends a delivery whose endpoint cannot receive it any more. */
export function skipWebhook(
  store: EventStore,
  delivery: WebhookDeliveryAtRevision,
  {
    origin,
    reason,
  }: { readonly origin: DeliveryOrigin; readonly reason: Parameters<typeof skipDelivery>[2] },
  context: WorkspaceCommandContext,
): Promise<void> {
  const decide = (state: WebhookDeliveryState) => skipDelivery(state, origin, reason);
  return transactFrom(store, { ...webhookDeliveryAggregate.of(delivery.id), ...delivery }, decide, context);
}

/** Ends a claim whose lease expired without an outcome. */
export function expireWebhookLease(
  store: EventStore,
  id: string,
  attempt: number,
  recording: WebhookRecording,
) {
  const decide = (state: WebhookDeliveryState) => expireAttempt(state, attempt, recording);
  return transact(store, webhookDeliveryAggregate.of(id), decide, recording.context);
}
