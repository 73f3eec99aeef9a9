import { never } from "../../kernel/assert.ts";
import type { Decider } from "../../kernel/event/decider.ts";
import { type EpochMs, epochMs } from "../../kernel/time.ts";
import type { SenderEvent, VerificationMethod } from "./events.ts";

/** Only links of today and yesterday can be open, and the limit of a sender is five a day. */
const REQUESTS_MAX = 10;

/** One verification link, and the progress of its mail. */
export interface VerificationRequest {
  readonly id: string;
  readonly secretHash: string;
  readonly requestedAt: EpochMs;
  readonly expiresAt: EpochMs;
  /** Claims so far. An attempt has the number of its claim. */
  readonly attempts: number;
  /** `waiting` until a worker claims it, `claimed` until its outcome is known. */
  readonly mail: "waiting" | "claimed" | "sent" | "failed";
  readonly nextAttemptAt: EpochMs;
}

export interface Sender {
  readonly workspaceId: string;
  readonly kind: "address" | "domain";
  /** The address as it was given, or the domain. */
  readonly name: string;
  /** The name in From if a send gives none of its own. */
  readonly displayName: string | null;
  /** Null until it is verified. */
  readonly verifiedBy: VerificationMethod | null;
  readonly disabled: boolean;
  /** Since when the record of a verified domain is known to be missing. The domain can still send. */
  readonly recordMissingSince: EpochMs | null;
  /** The newest ones, oldest first. */
  readonly requests: readonly VerificationRequest[];
}

/** `null` if the address or domain was never added. */
export type SenderState = Sender | null;

type RequestEvent = Extract<
  SenderEvent,
  {
    type: "SenderVerificationMailStarted" | "SenderVerificationMailSent" | "SenderVerificationMailFailed";
  }
>;

function evolveRequest(request: VerificationRequest, { type, data }: RequestEvent): VerificationRequest {
  switch (type) {
    case "SenderVerificationMailStarted":
      return { ...request, mail: "claimed", attempts: data.attempt };
    case "SenderVerificationMailSent":
      return { ...request, mail: "sent" };
    case "SenderVerificationMailFailed": {
      // A worker whose lease expired may record an attempt after others have taken over.
      if (request.mail === "sent" || data.attempt !== request.attempts) return request;
      if (data.nextAttemptAt === undefined) return { ...request, mail: "failed" };
      return { ...request, mail: "waiting", nextAttemptAt: epochMs(data.nextAttemptAt) };
    }
    default:
      return never(type);
  }
}

type Requested = Extract<SenderEvent, { type: "SenderVerificationRequested" }>["data"];

function newRequest({ requestId: id, secretHash, ...times }: Requested): VerificationRequest {
  const requestedAt = epochMs(times.requestedAt);
  const expiresAt = epochMs(times.expiresAt);
  return { id, secretHash, requestedAt, expiresAt, attempts: 0, mail: "waiting", nextAttemptAt: requestedAt };
}

/** The event that adds a sender. */
export type Beginning = Extract<SenderEvent, { type: "SenderAdded" | "SenderDomainAdded" }>;

function evolveExisting(state: Sender, event: Exclude<SenderEvent, Beginning>): Sender {
  switch (event.type) {
    case "SenderRenamed":
      return { ...state, displayName: event.data.displayName ?? null };
    case "SenderVerified":
      return { ...state, verifiedBy: state.verifiedBy ?? event.data.method };
    case "SenderDisabled":
      return { ...state, disabled: true };
    case "SenderEnabled":
      return { ...state, disabled: false };
    case "SenderRecordMissing":
      return { ...state, recordMissingSince: epochMs(event.data.since) };
    case "SenderRecordFound":
      return { ...state, recordMissingSince: null };
    case "SenderVerificationRequested":
      return { ...state, requests: [...state.requests, newRequest(event.data)].slice(-REQUESTS_MAX) };
    case "SenderVerificationMailStarted":
    case "SenderVerificationMailSent":
    case "SenderVerificationMailFailed": {
      const { requestId } = event.data;
      const requests = state.requests.map((request) =>
        request.id === requestId ? evolveRequest(request, event) : request,
      );
      return { ...state, requests };
    }
    default:
      return never(event);
  }
}

function evolve(state: SenderState, event: SenderEvent): SenderState {
  const fresh = { verifiedBy: null, disabled: false, recordMissingSince: null, requests: [] };
  if (event.type === "SenderAdded") {
    const { workspaceId, address, displayName = null } = event.data;
    return { workspaceId, kind: "address", name: address, displayName, ...fresh };
  }
  if (event.type === "SenderDomainAdded") {
    const { workspaceId, domain, displayName = null } = event.data;
    return { workspaceId, kind: "domain", name: domain, displayName, ...fresh };
  }
  return state === null ? null : evolveExisting(state, event);
}

export const senderDecider: Decider<SenderState, SenderEvent> = { initialState: null, evolve };

export function senderStatus({ disabled, verifiedBy }: Sender): "disabled" | "unverified" | "verified" {
  if (disabled) return "disabled";
  return verifiedBy === null ? "unverified" : "verified";
}

/** Whether this sender authorizes mail. */
export function canSend(sender: SenderState): boolean {
  return sender !== null && sender.verifiedBy !== null && !sender.disabled;
}

/**
 * Which sender authorizes mail from an address: its own or its domain's; null if neither does. A verified domain
 * authorizes every address except one that is itself disabled.
 */
export function authorityOf(address: SenderState, domain: SenderState): "address" | "domain" | null {
  if (canSend(address)) return "address";
  if (address?.disabled) return null;
  return canSend(domain) ? "domain" : null;
}

/** Why {@link authorityOf} returns null for an address. */
export type SenderFault = "unknown" | "unverified" | "disabled" | "domainUnverified" | "domainDisabled";

export function senderFault(address: SenderState, domain: SenderState): SenderFault {
  if (address !== null) return address.disabled ? "disabled" : "unverified";
  if (domain === null) return "unknown";
  return domain.disabled ? "domainDisabled" : "domainUnverified";
}
