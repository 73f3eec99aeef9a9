import type { WebhookAttemptResult } from "../../domain/webhookDelivery/classifyWebhookOutcome.ts";
import {
  type AttemptFacts,
  type AttemptRequest,
  expireAttempt,
  type RedeliveryRequest,
  recordAttempt,
  requestRecovery,
  requestRedelivery,
  skipDelivery,
  startAttempt,
} from "../../domain/webhookDelivery/decisions.ts";
import {
  type DeliveryOrigin,
  type WebhookDeliveryEvent,
  webhookDeliveryCodec,
  webhookDeliveryStream,
} from "../../domain/webhookDelivery/events.ts";
import type { DecisionInput, WebhookPolicy } from "../../domain/webhookDelivery/retrySchedule.ts";
import { type WebhookDeliveryState, webhookDeliveryDecider } from "../../domain/webhookDelivery/state.ts";
import type { Decision } from "../../kernel/event/decider.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/eventMetadata.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { webhookDeliveryAggregate } from "../aggregateDefinitions.ts";
import { load, toNewEvents, transact } from "../transact.ts";

/** A delivery asked for many times over has a longer history; then its beginning is shown. */
const STORY_EVENTS_MAX = 1_000;

/** A delivery at a known revision; null: its stream was never written. */
export interface WebhookDeliveryAtRevision {
  readonly id: string;
  readonly state: WebhookDeliveryState;
  readonly revision: number | null;
}

/** A delivery that this worker alone may attempt, for as long as its lease lasts. */
export interface ClaimedWebhook extends WebhookDeliveryAtRevision {
  readonly attempt: number;
}

/** A delivery as the log has it now. Throws `StoreError`. */
export async function readWebhookDelivery(store: EventStore, id: string): Promise<WebhookDeliveryAtRevision> {
  return { id, ...(await load(store, webhookDeliveryAggregate.of(id))) };
}

/** One event of a delivery's history. */
export interface WebhookHistoryEvent {
  readonly at: string;
  readonly event: WebhookDeliveryEvent;
}

/** Everything that happened to a delivery; nothing when it was never attempted. Throws `StoreError`. */
export async function readWebhookHistory(
  store: EventStore,
  id: string,
): Promise<readonly WebhookHistoryEvent[]> {
  const events = await store.read(webhookDeliveryStream(id), 0, STORY_EVENTS_MAX);
  return events.map((recorded) => {
    return { at: String(recorded.metadata.at), event: webhookDeliveryCodec.decode(recorded) };
  });
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

/** How often callers may ask for one delivery again in a day: all of its attempts are read for each. */
const REDELIVERIES_PER_DAY_MAX = 20;

/** Asks for a delivery once more. Throws `ChangeRateError` when that was done too often. */
export function redeliverWebhook(
  store: EventStore,
  id: string,
  request: RedeliveryRequest,
  context: WorkspaceCommandContext,
) {
  const decide = (state: WebhookDeliveryState) => requestRedelivery(state, request, context.at);
  return transact(store, redeliveryAggregate(id), decide, context);
}

/** As {@link redeliverWebhook}, unless it has been delivered meanwhile. */
export function recoverDelivery(
  store: EventStore,
  id: string,
  request: RedeliveryRequest,
  context: WorkspaceCommandContext,
) {
  const decide = (state: WebhookDeliveryState) => requestRecovery(state, request, context.at);
  return transact(store, redeliveryAggregate(id), decide, context);
}

function redeliveryAggregate(id: string) {
  return {
    ...webhookDeliveryAggregate.of(id),
    changesPerDayMax: REDELIVERIES_PER_DAY_MAX,
  };
}
