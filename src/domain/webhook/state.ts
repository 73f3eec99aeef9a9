import type { Decider } from "../../kernel/decider.ts";
import type { WebhookEvent } from "./events.ts";

/** The endpoints of one workspace: id by normalised URL. */
export interface WebhooksState {
  readonly idByUrl: ReadonlyMap<string, string>;
}

function evolve(state: WebhooksState, event: WebhookEvent): WebhooksState {
  const { url, endpointId } = event.data;
  return { idByUrl: new Map(state.idByUrl).set(url, endpointId) };
}

export const webhookDecider: Decider<WebhooksState, WebhookEvent> = {
  initialState: { idByUrl: new Map() },
  evolve,
};
