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
import type { Decision } from "../../kernel/event/decider.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { webhookDeliveryAggregate } from "../aggregateDefinitions.ts";
import { toNewEvents, transact } from "../transact.ts";
import type { WebhookDeliveryAtRevision } from "./readWebhookDelivery.ts";

/** A delivery that this worker alone may attempt, for as long as its lease lasts. */
export interface ClaimedWebhook extends WebhookDeliveryAtRevision {
  readonly attempt: number;
}

/** Claims a delivery as it was read. Null: somebody else was first, or it is not due. Throws `StoreError`. */
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

type Decide = (state: WebhookDeliveryState) => Decision<unknown, WebhookDeliveryEvent>;

/** Appends what `decide` says at the known revision, and otherwise at whatever the stream has become. */
async function record(
  store: EventStore,
  at: WebhookDeliveryAtRevision,
  decide: Decide,
  context: WorkspaceCommandContext,
): Promise<void> {
  const { events } = decide(at.state);
  if (events.length === 0) return;
  const stream = webhookDeliveryStream(at.id);
  const result = await store.append(stream, toNewEvents(events, context), at.revision ?? "noStream");
  if (result.outcome === "appended") return;
  await transact(store, { ...webhookDeliveryAggregate, stream }, decide, context);
}

/** How outcomes are recorded. */
export interface WebhookRecording {
  readonly policy: WebhookPolicy;
  readonly input: DecisionInput;
  readonly context: WorkspaceCommandContext;
}

/** Records what became of an attempt, even late. Throws `StoreError`. */
export function recordWebhookAttempt(
  store: EventStore,
  claimed: ClaimedWebhook,
  { result, facts }: { readonly result: WebhookAttemptResult; readonly facts: AttemptFacts },
  on: WebhookRecording,
): Promise<void> {
  const decide: Decide = (state) => recordAttempt(state, claimed.attempt, result, { ...on, facts });
  return record(store, claimed, decide, on.context);
}

/** Ends a delivery whose endpoint is no longer there to take it. */
export function skipWebhook(
  store: EventStore,
  delivery: WebhookDeliveryAtRevision,
  {
    origin,
    reason,
  }: { readonly origin: DeliveryOrigin; readonly reason: Parameters<typeof skipDelivery>[2] },
  context: WorkspaceCommandContext,
): Promise<void> {
  return record(store, delivery, (state) => skipDelivery(state, origin, reason), context);
}

/** Ends a claim whose lease ran out with no outcome. */
export function expireWebhookLease(store: EventStore, id: string, attempt: number, on: WebhookRecording) {
  const aggregate = webhookDeliveryAggregate.of(id);
  return transact(store, aggregate, (state) => expireAttempt(state, attempt, on), on.context);
}
