import { never } from "../../kernel/assert.ts";
import type { Decider } from "../../kernel/event/decider.ts";
import { omitUndefined } from "../../kernel/omitUndefined.ts";
import { type EpochMs, epochMs } from "../../kernel/time.ts";
import type { WebhookEvent } from "./events.ts";

export type DisabledReason = Extract<WebhookEvent, { type: "WebhookEndpointDisabled" }>["data"]["reason"];

interface PreviousSecret {
  readonly sealedSecret: string;
  readonly until: EpochMs;
}

/**
 * How many previous secrets sign beside the newest. A caller who gets no answer rotates again, so the secret that
 * receivers know may not be the last but one.
 */
const PREVIOUS_SECRETS_MAX = 3;

export interface WebhookEndpoint {
  readonly id: string;
  /** Normalised. */
  readonly url: string;
  readonly description: string | null;
  /** Null: all. */
  readonly eventTypes: readonly string[] | null;
  /** Which of `INCLUDABLE_MEMBERS` it is sent. */
  readonly include: readonly string[];
  /** Null while it is active. */
  readonly disabledReason: DisabledReason | null;
  readonly sealedSecret: string;
  /** The secrets before the last rotations, the newest first, and how long each still signs. */
  readonly previous: readonly PreviousSecret[];
}

/** How many of the last registrations and rotations are known, to tell a repeat of one. */
export const REQUESTS_KNOWN_MAX = 100;

/** The endpoints of one workspace. */
export interface WebhooksState {
  /** By id, without deleted ones. */
  readonly endpoints: ReadonlyMap<string, WebhookEndpoint>;
  /** The ids of the last endpoints, also of deleted ones, and of the last rotations, the newest first. */
  readonly lastRequests: readonly string[];
}

type Change = Exclude<WebhookEvent, { type: "WebhookEndpointRegistered" | "WebhookEndpointDeleted" }>;

function changed(endpoint: WebhookEndpoint, event: Change): WebhookEndpoint {
  switch (event.type) {
    case "WebhookEndpointUpdated": {
      const { url, description, eventTypes, include } = event.data;
      return { ...endpoint, ...omitUndefined({ url, description, eventTypes, include }) };
    }
    case "WebhookEndpointDisabled":
      return { ...endpoint, disabledReason: event.data.reason };
    case "WebhookEndpointEnabled":
      return { ...endpoint, disabledReason: null };
    case "WebhookEndpointSecretRotated": {
      const { sealedSecret, previousUntil } = event.data;
      const until = epochMs(previousUntil);
      const previous = [{ sealedSecret: endpoint.sealedSecret, until }, ...endpoint.previous]
        .map((one) => ({ ...one, until: Math.min(one.until, until) }))
        .slice(0, PREVIOUS_SECRETS_MAX);
      return { ...endpoint, sealedSecret, previous };
    }
    case "WebhookTestRequested":
      return endpoint;
    default:
      return never(event);
  }
}

/** The id of the request that an event came of, if a repeat of it gives no events. */
function requestOf({ type, data }: WebhookEvent): string | undefined {
  if (type === "WebhookEndpointRegistered") return data.endpointId;
  return type === "WebhookEndpointSecretRotated" ? data.rotationId : undefined;
}

function evolve({ endpoints, lastRequests }: WebhooksState, event: WebhookEvent): WebhooksState {
  const next = new Map(endpoints);
  if (event.type === "WebhookEndpointRegistered") {
    const { endpointId: id, url, description, eventTypes, include = [], sealedSecret } = event.data;
    const settings = { id, url, description, eventTypes, include, sealedSecret };
    next.set(id, { ...settings, disabledReason: null, previous: [] });
  } else if (event.type === "WebhookEndpointDeleted") {
    next.delete(event.data.endpointId);
  } else {
    const endpoint = next.get(event.data.endpointId);
    if (endpoint) next.set(endpoint.id, changed(endpoint, event));
  }
  const request = requestOf(event);
  if (request === undefined) return { endpoints: next, lastRequests };
  return { endpoints: next, lastRequests: [request, ...lastRequests].slice(0, REQUESTS_KNOWN_MAX) };
}

export const webhookDecider: Decider<WebhooksState, WebhookEvent> = {
  initialState: { endpoints: new Map(), lastRequests: [] },
  evolve,
};

/** The encrypted secrets that sign at `now`, the newest first: one, or several during a rotation. */
export function signingSecrets({ sealedSecret, previous }: WebhookEndpoint, now: EpochMs): readonly string[] {
  const others = previous.filter(({ until }) => now < until);
  return [sealedSecret, ...others.map((one) => one.sealedSecret)];
}
