import { randomBytes } from "node:crypto";
import {
  deleteEndpoint,
  disableEndpoint,
  type EndpointRefusal,
  enableEndpoint,
  registerEndpoint,
  requestTest,
  rotateSecret,
  updateEndpoint,
} from "../../domain/webhook/decisions.ts";
import { type WebhookEvent, webhooksStream } from "../../domain/webhook/events.ts";
import type { DisabledReason, WebhookEndpoint, WebhooksState } from "../../domain/webhook/state.ts";
import { invariant } from "../../kernel/assert.ts";
import { webhookSecretText } from "../../kernel/crypto/webhookSignature.ts";
import type { Decision } from "../../kernel/event/decider.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/eventMetadata.ts";
import { newId, webhookDeliveryId } from "../../kernel/ids.ts";
import { rfc3339 } from "../../kernel/time.ts";
import { webhookAggregate } from "../aggregateDefinitions.ts";
import { changeRateLimit } from "../changeRateLimit.ts";
import type { Dependencies } from "../dependencies.ts";
import { Contention, queueStreamWrite } from "../streamWriteQueue.ts";
import { toNewEvents, transact } from "../transact.ts";

const SECRET_BYTES = 32;

type Holder = Pick<Dependencies, "store" | "webhooks">;

/** Which endpoint of which workspace. */
export interface EndpointName {
  readonly workspaceId: string;
  readonly endpointId: string;
}

/** How often callers may change the endpoints of one workspace in a day, all together. */
const CHANGES_PER_DAY_MAX = 2_000;
/**
 * How often callers may test the endpoints of one workspace in a day: tests are events in the stream of its endpoints.
 */
const TESTS_PER_DAY_MAX = 1_000;

/** Changes the endpoints of a workspace. */
async function change<Outcome>(
  deps: Holder,
  workspaceId: string,
  decide: (state: WebhooksState) => Decision<Outcome, WebhookEvent>,
  context: WorkspaceCommandContext,
): Promise<Outcome> {
  const aggregate = {
    ...webhookAggregate.of(workspaceId),
    // What was read of them is not read again.
    since: () => deps.webhooks.loaded(workspaceId),
    changesPerDayMax: CHANGES_PER_DAY_MAX,
  };
  const outcome = await transact(deps.store, aggregate, decide, context);
  deps.webhooks.forget(workspaceId);
  return outcome;
}

export interface RegisterWebhook extends Pick<WebhookEndpoint, "url" | "description" | "eventTypes"> {
  readonly workspaceId: string;
  readonly context: WorkspaceCommandContext;
}

export type RegisterOutcome =
  | { readonly kind: "registered"; readonly id: string; readonly secret: string; readonly createdAt: string }
  | { readonly kind: "alreadyExists" | "limitReached" };

/**
 * Registers an endpoint with a fresh signing secret (Standard Webhooks: `whsec_` and base64), which this
 * answer alone carries. Two endpoints of a workspace cannot have one destination: its stream's expected
 * revision sees to that.
 */
export async function registerWebhook(
  deps: Holder & Pick<Dependencies, "keys">,
  register: RegisterWebhook,
): Promise<RegisterOutcome> {
  const { workspaceId, url, description, eventTypes, context } = register;
  const id = newId();
  const secret = randomBytes(SECRET_BYTES);
  const endpoint = {
    endpointId: id,
    workspaceId,
    url,
    description,
    eventTypes: eventTypes === null ? null : [...eventTypes],
    sealedSecret: deps.keys.encryptSecret(secret, { workspaceId, endpointId: id }),
  };
  const outcome = await change(deps, workspaceId, (state) => registerEndpoint(state, endpoint), context);
  if (outcome !== "registered") return { kind: outcome };
  return { kind: "registered", id, secret: webhookSecretText(secret), createdAt: rfc3339(context.at) };
}

/** What can be changed of an endpoint; what is left out stays. */
export interface EndpointChange {
  /** As `readDestination` gives it. */
  readonly url?: string;
  readonly description?: string | null;
  readonly eventTypes?: string[] | null;
}

/** Changes an endpoint. Events from here on go by it; what is owed already goes to the new address. */
export function updateWebhookEndpoint(
  deps: Holder,
  { workspaceId, endpointId }: EndpointName,
  wanted: EndpointChange,
  context: WorkspaceCommandContext,
) {
  return change(deps, workspaceId, (state) => updateEndpoint(state, { endpointId, ...wanted }), context);
}

/** Disables an endpoint on request. What it is owed is skipped. */
export function disableWebhookEndpoint(
  deps: Holder,
  { workspaceId, endpointId }: EndpointName,
  reason: DisabledReason,
  context: WorkspaceCommandContext,
) {
  return change(deps, workspaceId, (state) => disableEndpoint(state, endpointId, reason), context);
}

/** Why an endpoint is disabled that nobody asked to disable. */
export type FailureReason = Exclude<DisabledReason, "manual">;

/**
 * Disables an endpoint for what became of its calls; true when it was not disabled before. Where `url` is given, it is
 * left alone if it has moved from there meanwhile: that says nothing of its new place.
 */
export async function disableFailedEndpoint(
  deps: Holder,
  { workspaceId, endpointId, url }: EndpointName & { readonly url?: string },
  reason: FailureReason,
  context: WorkspaceCommandContext,
): Promise<boolean> {
  let hasChanged = false;
  const decide = (state: WebhooksState): ReturnType<typeof disableEndpoint> => {
    const hasMoved = url !== undefined && state.endpoints.get(endpointId)?.url !== url;
    if (hasMoved) return { outcome: "notFound", events: [] };
    const decision = disableEndpoint(state, endpointId, reason);
    hasChanged = decision.events.length > 0;
    return decision;
  };
  await change(deps, workspaceId, decide, context);
  return hasChanged;
}

/** Enables an endpoint: for what happens from here on. What it missed can be recovered. */
export function enableWebhookEndpoint(
  deps: Holder,
  { workspaceId, endpointId }: EndpointName,
  context: WorkspaceCommandContext,
) {
  return change(deps, workspaceId, (state) => enableEndpoint(state, endpointId), context);
}

export function deleteWebhookEndpoint(
  deps: Holder,
  { workspaceId, endpointId }: EndpointName,
  context: WorkspaceCommandContext,
) {
  return change(deps, workspaceId, (state) => deleteEndpoint(state, endpointId), context);
}

/** Gives an endpoint a fresh secret, which this answer alone carries; null when there is no such endpoint. */
export async function rotateWebhookSecret(
  deps: Holder & Pick<Dependencies, "keys">,
  { workspaceId, endpointId }: EndpointName,
  overlapMs: number,
  context: WorkspaceCommandContext,
): Promise<{ readonly secret: string } | null> {
  const secret = randomBytes(SECRET_BYTES);
  const encrypted = {
    endpointId,
    sealedSecret: deps.keys.encryptSecret(secret, { workspaceId, endpointId }),
  };
  const decide = (state: WebhooksState) => rotateSecret(state, encrypted, context.at, overlapMs);
  const outcome = await change(deps, workspaceId, decide, context);
  return outcome === "rotated" ? { secret: webhookSecretText(secret) } : null;
}

export type TestOutcome =
  | { readonly kind: "requested"; readonly deliveryId: string }
  | { readonly kind: "disabled" | EndpointRefusal };

/**
 * Sends a test event to one endpoint. Answers the id of its delivery. Throws `ChangeRateError` when it is one test too
 * many; changes are counted apart, so that an endpoint can still be disabled then.
 */
export async function testWebhookEndpoint(
  deps: Holder,
  { workspaceId, endpointId }: EndpointName,
  context: WorkspaceCommandContext,
): Promise<TestOutcome> {
  const { endpoints } = await deps.webhooks.get(workspaceId);
  const { outcome, events } = requestTest({ endpoints }, endpointId);
  if (outcome !== "requested") return { kind: outcome };
  const stream = webhooksStream(workspaceId);
  const rate = changeRateLimit(deps.store, `${stream} tests`, context, TESTS_PER_DAY_MAX);
  return queueStreamWrite(deps.store, stream, async () => {
    rate.check();
    // Each test is news, whatever else happens to the endpoint meanwhile: only the place in the stream is contended.
    const contention = new Contention(stream);
    for (;;) {
      const [event] = toNewEvents(events, context);
      invariant(event, "one event in, one event out");
      const revision = (await deps.store.lastRevision(stream)) ?? "noStream";
      const result = await deps.store.append(stream, [event], revision);
      if (result.outcome === "appended") {
        rate.count();
        return { kind: "requested", deliveryId: webhookDeliveryId(event.id, endpointId) };
      }
      await contention.lost();
    }
  });
}
