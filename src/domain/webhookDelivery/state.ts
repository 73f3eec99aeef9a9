import { never } from "../../kernel/assert.ts";
import type { Decider } from "../../kernel/event/decider.ts";
import { type EpochMs, epochMs } from "../../kernel/time.ts";
import type { DeliveryOrigin, WebhookDeliveryEvent } from "./events.ts";

export const DELIVERY_STATUSES = ["pending", "attempting", "delivered", "exhausted", "skipped"] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

export interface WebhookDelivery {
  readonly status: DeliveryStatus;
  readonly origin: DeliveryOrigin;
  /** Claims so far. An attempt has the number of its claim. */
  readonly attempts: number;
  /** Attempts that count in the schedule, since the beginning or the last request to deliver again. */
  readonly countedAttempts: number;
  readonly claim: { readonly attempt: number; readonly worker: string; readonly leaseMs: number } | null;
  /** Attempts whose own outcome is in the log, so none is recorded twice. */
  readonly settledAttempts: readonly number[];
  /** Not before this time; 0: now. */
  readonly nextAttemptAt: EpochMs;
}

/** `null` before the first attempt: only the read model knows what is pending then. */
export type WebhookDeliveryState = WebhookDelivery | null;

/** The reason of the WebhookAttemptFailed that ends a claim whose worker never reported back. */
export const LEASE_EXPIRED = "lease_expired";

function begun(state: WebhookDeliveryState, origin: DeliveryOrigin): WebhookDelivery {
  if (state !== null) return state;
  return {
    status: "pending",
    origin,
    attempts: 0,
    countedAttempts: 0,
    claim: null,
    settledAttempts: [],
    nextAttemptAt: 0,
  };
}

type Failed = Extract<WebhookDeliveryEvent, { type: "WebhookAttemptFailed" }>["data"];

/** An expired lease does not settle its attempt: the worker may still record the outcome. */
function failed(state: WebhookDelivery, data: Failed): WebhookDelivery {
  const { attempt, reason, attemptBurnt, nextAttemptAt } = data;
  const settled = reason === LEASE_EXPIRED ? state : settle(state, attempt);
  if (state.claim?.attempt !== attempt) return settled;
  return {
    ...settled,
    status: "pending",
    claim: null,
    countedAttempts: state.countedAttempts + (attemptBurnt ? 1 : 0),
    nextAttemptAt: nextAttemptAt === undefined ? 0 : epochMs(nextAttemptAt),
  };
}

function settle(state: WebhookDelivery, attempt: number): WebhookDelivery {
  return { ...state, settledAttempts: [...state.settledAttempts, attempt] };
}

function evolve(state: WebhookDeliveryState, event: WebhookDeliveryEvent): WebhookDeliveryState {
  switch (event.type) {
    case "WebhookAttemptStarted": {
      const { origin, attempt, worker, leaseMs } = event.data;
      const known = begun(state, origin);
      return { ...known, status: "attempting", attempts: attempt, claim: { attempt, worker, leaseMs } };
    }
    case "WebhookDeliverySkipped":
      return { ...begun(state, event.data.origin), status: "skipped", claim: null };
    case "WebhookRedeliveryRequested": {
      const known = begun(state, event.data.origin);
      return { ...known, status: "pending", countedAttempts: 0, nextAttemptAt: epochMs(event.data.at) };
    }
    case "WebhookDelivered":
      return state && { ...settle(state, event.data.attempt), status: "delivered", claim: null };
    case "WebhookAttemptFailed":
      return state && failed(state, event.data);
    case "WebhookDeliveryExhausted":
      return state && { ...state, status: "exhausted", claim: null };
    default:
      return never(event);
  }
}

export const webhookDeliveryDecider: Decider<WebhookDeliveryState, WebhookDeliveryEvent> = {
  initialState: null,
  evolve,
};
