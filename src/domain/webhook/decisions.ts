import type { Decision } from "../../kernel/decider.ts";
import type { WebhookEvent } from "./events.ts";
import type { WebhooksState } from "./state.ts";

/** A workspace has at most this many endpoints, so that the list fits one answer. */
export const ENDPOINTS_MAX = 100;

type Registered = Extract<WebhookEvent, { type: "WebhookEndpointRegistered" }>["data"];

export function registerEndpoint(
  state: WebhooksState,
  endpoint: Registered,
): Decision<"registered" | "alreadyExists" | "limitReached", WebhookEvent> {
  if (state.idByUrl.has(endpoint.url)) return { outcome: "alreadyExists", events: [] };
  if (state.idByUrl.size >= ENDPOINTS_MAX) return { outcome: "limitReached", events: [] };
  return { outcome: "registered", events: [{ type: "WebhookEndpointRegistered", data: endpoint }] };
}
