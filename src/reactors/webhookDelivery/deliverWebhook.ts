import { originOf, type WebhookDeliveryRow } from "../../../projections/webhookDeliveries/queries.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { disableFailedEndpoint, type FailureReason } from "../../commands/webhook/changeWebhookEndpoint.ts";
import {
  readWebhookDelivery,
  type WebhookDeliveryAtRevision,
} from "../../commands/webhookDelivery/readWebhookDelivery.ts";
import {
  type ClaimedWebhook,
  claimWebhook,
  recordWebhookAttempt,
  releaseUnconfirmedWebhookClaim,
  skipWebhook,
  type WebhookRecording,
} from "../../commands/webhookDelivery/webhookAttempts.ts";
import {
  type EndpointEvent,
  type MappedEvent,
  type WebhookPayload,
  withIncluded,
} from "../../commands/webhookDelivery/webhookPayload.ts";
import { signingSecrets, type WebhookEndpoint } from "../../domain/webhook/state.ts";
import {
  classifyWebhookOutcome,
  type WebhookAttemptResult,
} from "../../domain/webhookDelivery/classifyWebhookOutcome.ts";
import type { AttemptFacts } from "../../domain/webhookDelivery/decisions.ts";
import type { DeliveryOrigin } from "../../domain/webhookDelivery/events.ts";
import { redactResponse } from "../../domain/webhookDelivery/redactResponse.ts";
import type { WebhookPolicy } from "../../domain/webhookDelivery/retrySchedule.ts";
import { invariant } from "../../kernel/assert.ts";
import { webhookHeaders } from "../../kernel/crypto/webhookSignature.ts";
import type { WebhookOutcome } from "../../kernel/outcome/webhookOutcome.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import type { WebhookCall, WebhookTransport } from "../../ports/webhookTransport.ts";
import { claimOrRelease } from "../worker/claimOrRelease.ts";
import type { ClaimWorkerDependencies } from "../worker/claimWorkerDependencies.ts";
import { retryUntilRecorded } from "../worker/retryUntilRecorded.ts";
import { workerCommandContext } from "../worker/workerCommandContext.ts";
import type { BlockedDestinationReports } from "./blockedDestinationReports.ts";
import type { EndpointFailureReports } from "./endpointFailureReports.ts";

export interface WebhookDeliveryDependencies extends Dependencies, ClaimWorkerDependencies {
  readonly transport: WebhookTransport;
  readonly mappedOf: (origin: DeliveryOrigin) => Promise<MappedEvent>;
  readonly policy: WebhookPolicy;
  readonly userAgent: string;
  /** Called for each endpoint that is disabled automatically. */
  readonly onDisabled: (endpoint: DisabledEndpoint) => void;
  readonly blockedDestinations: BlockedDestinationReports;
  /** Told of each result. */
  readonly endpointFailures: EndpointFailureReports;
  readonly deliveries: ReadDatabase;
  /** Waits briefly for it to catch up with the log; false when it does not, or once `signal` aborts. */
  readonly waitUntilCaughtUp: (signal: AbortSignal) => Promise<boolean>;
}

export interface DisabledEndpoint {
  readonly workspaceId: string;
  readonly endpointId: string;
  readonly reason: FailureReason;
}

/** What the scheduler learns: the newest revision acted on, and whether the call reached the endpoint. */
interface WebhookReport {
  readonly revision: number | null;
  readonly gotThrough: boolean | null;
}

const NOT_ACTED: WebhookReport = { revision: null, gotThrough: null };

/** Claims, calls and records one delivery. */
export async function deliverWebhook(
  deps: WebhookDeliveryDependencies,
  row: WebhookDeliveryRow,
): Promise<WebhookReport> {
  const { store, worker, policy } = deps;
  const { workspaceId } = row;
  if (!(await deps.deliveryGate.ask())) return NOT_ACTED;
  // A delivery that was never attempted has no stream to read.
  const at: WebhookDeliveryAtRevision =
    row.revision === 0
      ? { id: row.id, state: null, revision: null }
      : await readWebhookDelivery(store, row.id);
  const origin = originOf(row);
  const endpoint = await endpointOf(deps, row);
  if (endpoint === undefined || endpoint.disabledReason !== null) {
    const reason = endpoint === undefined ? "endpoint_deleted" : "endpoint_disabled";
    await skipWebhook(store, at, { origin, reason }, workerCommandContext(deps, workspaceId));
    return { revision: row.revision, gotThrough: null };
  }
  const event = withIncluded(await deps.mappedOf(origin), endpoint.include);
  if (!(await deps.deliveryGate.ask())) return NOT_ACTED;
  const request = { origin, worker, leaseMs: policy.leaseMs };
  const claimed = await claimOrRelease(deps, {
    id: row.id,
    claim: () => claimWebhook(store, at, request, workerCommandContext(deps, workspaceId)),
    release: () => releaseUnconfirmedWebhookClaim(store, row.id, worker, recordingOf(deps, workspaceId)),
  });
  if (claimed === null)
    return isNotYetDue(deps, row, at) ? NOT_ACTED : { ...NOT_ACTED, revision: row.revision };
  const outcome = await deps.transport.call(
    signedCall(deps, claimed, { workspaceId, endpoint }, event.payload),
    deps.abandoned,
  );
  return conclude(deps, { row, url: endpoint.url, event }, claimed, outcome);
}

/**
 * The endpoint from the cache, at most a second old. If that says there is nobody to deliver to, it is read from the
 * log: the endpoint may be newer than the cache, and its delivery must not be skipped.
 */
async function endpointOf(
  { webhooks }: Dependencies,
  { workspaceId, endpointId }: WebhookDeliveryRow,
): Promise<WebhookEndpoint | undefined> {
  const known = (await webhooks.get(workspaceId)).endpoints.get(endpointId);
  if (known?.disabledReason === null) return known;
  webhooks.forget(workspaceId);
  return (await webhooks.get(workspaceId)).endpoints.get(endpointId);
}

/** Whether only the time keeps it from being due: a clock was set back. Other causes show in the read model. */
function isNotYetDue(
  { clock }: WebhookDeliveryDependencies,
  row: WebhookDeliveryRow,
  { state, revision }: WebhookDeliveryAtRevision,
) {
  const isAsShown = revision === row.revision - 1;
  return isAsShown && state?.status === "pending" && state.nextAttemptAt > clock.now();
}

/** The call, signed with the endpoint's secrets. It sends exactly the bytes it signs. */
function signedCall(
  { clock, keys, userAgent }: WebhookDeliveryDependencies,
  { id }: ClaimedWebhook,
  { workspaceId, endpoint }: { readonly workspaceId: string; readonly endpoint: WebhookEndpoint },
  payload: WebhookPayload,
): WebhookCall {
  const body = JSON.stringify(payload);
  const now = clock.now();
  const secrets = signingSecrets(endpoint, now).map((encrypted) => {
    const secret = keys.decryptSecret(encrypted, { workspaceId, endpointId: endpoint.id });
    invariant(secret, "the data key decrypts the secret that it encrypted for this endpoint");
    return secret;
  });
  return {
    url: endpoint.url,
    body: Buffer.from(body),
    headers: {
      "content-type": "application/json",
      "accept-encoding": "identity",
      "user-agent": userAgent,
      ...webhookHeaders(secrets, { id, timestampSeconds: Math.floor(now / SECOND_MS), body }),
    },
  };
}

function factsOf(
  { keys }: WebhookDeliveryDependencies,
  outcome: WebhookOutcome,
  { payload, included, answer }: EndpointEvent,
): AttemptFacts {
  const durationMs = Math.round(outcome.durationMs);
  if (outcome.kind !== "answered") return { durationMs };
  const body = redactResponse(outcome.body, { metadata: payload.data.metadata, included });
  const facts = { durationMs, statusCode: outcome.statusCode };
  if (body === "" || answer.kind === "dropped") return facts;
  if (answer.kind === "plain") return { ...facts, excerpt: body };
  return { ...facts, sealedExcerpt: keys.encryptWithSalt(answer.salt, body) };
}

function gotThrough(result: WebhookAttemptResult): boolean | null {
  return result.kind === "ours" ? null : result.kind === "delivered";
}

/** What was sent, and where to. */
interface SentEvent {
  readonly row: WebhookDeliveryRow;
  readonly url: string;
  readonly event: EndpointEvent;
}

async function conclude(
  deps: WebhookDeliveryDependencies,
  { row, url, event }: SentEvent,
  claimed: ClaimedWebhook,
  outcome: WebhookOutcome,
): Promise<WebhookReport> {
  const { workspaceId, endpointId } = row;
  deps.blockedDestinations.note({ workspaceId, endpointId, url }, outcome);
  const result = classifyWebhookOutcome(outcome);
  const statusCode = outcome.kind === "answered" ? outcome.statusCode : null;
  deps.endpointFailures.note({ workspaceId, endpointId }, result, statusCode);
  const attempt = { result, facts: factsOf(deps, outcome, event) };
  await retryUntilRecorded(deps, claimed.id, () =>
    recordWebhookAttempt(deps.store, claimed, attempt, recordingOf(deps, workspaceId)),
  );
  if (result.kind === "gone") {
    const asWorker = workerCommandContext(deps, workspaceId);
    await retryUntilRecorded(deps, claimed.id, async () => {
      const hasChanged = await disableFailedEndpoint(deps, { endpointId, url }, "gone", asWorker);
      if (hasChanged) deps.onDisabled({ workspaceId, endpointId, reason: "gone" });
    });
  }
  // We report the claim's revision, because the outcome may make the delivery due again, and that is news.
  return { revision: row.revision + 1, gotThrough: gotThrough(result) };
}

/** What an outcome in the workspace's deliveries is decided and recorded with, at this moment. */
export function recordingOf(deps: WebhookDeliveryDependencies, workspaceId: string): WebhookRecording {
  const { policy, clock, random } = deps;
  const input = { now: clock.now(), random: random() };
  return { policy, input, context: workerCommandContext(deps, workspaceId) };
}
