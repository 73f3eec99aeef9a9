import { type Decision, decided } from "../../kernel/event/decider.ts";
import { type EpochMs, rfc3339 } from "../../kernel/time.ts";
import type { WebhookEvent } from "./events.ts";
import type { DisabledReason, WebhookEndpoint, WebhooksState } from "./state.ts";

/** A workspace has at most this many endpoints, so the list fits into one answer. */
export const ENDPOINTS_MAX = 100;

/** How long the previous secret signs beside the new one, unless the caller says otherwise. */
export const OVERLAP_SECONDS_DEFAULT = 86_400;
export const OVERLAP_SECONDS_MAX = 604_800;

type DataOf<Type extends WebhookEvent["type"]> = Extract<WebhookEvent, { type: Type }>["data"];

/** Why a command about an endpoint is refused. */
export type EndpointRefusal = "notFound";

function holderOf({ endpoints }: WebhooksState, url: string): WebhookEndpoint | undefined {
  return [...endpoints.values()].find((endpoint) => endpoint.url === url);
}

/** A repeat, which wants the same id, gives no events. */
export function registerEndpoint(
  state: WebhooksState,
  endpoint: DataOf<"WebhookEndpointRegistered">,
): Decision<"registered" | "repeated" | "alreadyExists" | "limitReached", WebhookEvent> {
  if (state.lastRequests.includes(endpoint.endpointId)) return decided("repeated");
  if (holderOf(state, endpoint.url)) return decided("alreadyExists");
  if (state.endpoints.size >= ENDPOINTS_MAX) return decided("limitReached");
  return decided("registered", { type: "WebhookEndpointRegistered", data: endpoint });
}

/** Changes the given members. Values that stay the same give no events. */
export function updateEndpoint(
  state: WebhooksState,
  change: DataOf<"WebhookEndpointUpdated">,
): Decision<"updated" | "alreadyExists" | EndpointRefusal, WebhookEvent> {
  const endpoint = state.endpoints.get(change.endpointId);
  if (!endpoint) return decided("notFound");
  const holder = change.url === undefined ? undefined : holderOf(state, change.url);
  if (holder && holder.id !== endpoint.id) return decided("alreadyExists");
  const { endpointId, ...wanted } = change;
  const news = Object.entries(wanted).filter(
    ([name, value]) => JSON.stringify(endpoint[name as keyof typeof wanted]) !== JSON.stringify(value),
  );
  if (news.length === 0) return decided("updated");
  const data = { endpointId, ...Object.fromEntries(news) };
  return decided("updated", { type: "WebhookEndpointUpdated", data });
}

/** A repeat gives no events: the first reason stays. */
export function disableEndpoint(
  state: WebhooksState,
  endpointId: string,
  reason: DisabledReason,
): Decision<"disabled" | EndpointRefusal, WebhookEvent> {
  const endpoint = state.endpoints.get(endpointId);
  if (!endpoint) return decided("notFound");
  if (endpoint.disabledReason !== null) return decided("disabled");
  return decided("disabled", { type: "WebhookEndpointDisabled", data: { endpointId, reason } });
}

/** A repeat gives no events. */
export function enableEndpoint(
  state: WebhooksState,
  endpointId: string,
): Decision<"enabled" | EndpointRefusal, WebhookEvent> {
  const endpoint = state.endpoints.get(endpointId);
  if (!endpoint) return decided("notFound");
  if (endpoint.disabledReason === null) return decided("enabled");
  return decided("enabled", { type: "WebhookEndpointEnabled", data: { endpointId } });
}

/** Signs with the new secret at once, and with the previous one for `overlapMs` more. A repeat gives no events. */
export function rotateSecret(
  state: WebhooksState,
  rotation: Omit<DataOf<"WebhookEndpointSecretRotated">, "previousUntil">,
  now: EpochMs,
  overlapMs: number,
): Decision<"rotated" | "repeated" | EndpointRefusal, WebhookEvent> {
  const { endpointId, rotationId } = rotation;
  if (!state.endpoints.has(endpointId)) return decided("notFound");
  if (rotationId !== undefined && state.lastRequests.includes(rotationId)) return decided("repeated");
  const data = { ...rotation, previousUntil: rfc3339(now + overlapMs) };
  return decided("rotated", { type: "WebhookEndpointSecretRotated", data });
}

export function deleteEndpoint(
  state: WebhooksState,
  endpointId: string,
): Decision<"deleted" | EndpointRefusal, WebhookEvent> {
  if (!state.endpoints.has(endpointId)) return decided("notFound");
  return decided("deleted", { type: "WebhookEndpointDeleted", data: { endpointId } });
}

/** Requests a test event for this endpoint alone. A disabled endpoint gets none. */
export function requestTest(
  state: WebhooksState,
  endpointId: string,
): Decision<"requested" | "disabled" | EndpointRefusal, WebhookEvent> {
  const endpoint = state.endpoints.get(endpointId);
  if (!endpoint) return decided("notFound");
  if (endpoint.disabledReason !== null) return decided("disabled");
  return decided("requested", { type: "WebhookTestRequested", data: { endpointId } });
}
