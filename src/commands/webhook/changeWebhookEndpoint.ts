import { randomBytes } from "node:crypto";
import {
  deleteEndpoint,
  disableEndpoint,
  enableEndpoint,
  rotateSecret,
  updateEndpoint,
} from "../../domain/webhook/decisions.ts";
import type { DisabledReason, WebhooksState } from "../../domain/webhook/state.ts";
import { webhookSecretText } from "../../kernel/crypto/webhookSignature.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { decided } from "../../kernel/event/decider.ts";
import { omitUndefined } from "../../kernel/omitUndefined.ts";
import type { Dependencies } from "../dependencies.ts";
import { SECRET_BYTES } from "./registerWebhookEndpoint.ts";
import { type EndpointDependencies, transactEndpoints } from "./transactEndpoints.ts";

/** The changes to an endpoint; a missing member stays as it is. */
export interface EndpointChange {
  /** As `readDestination` returns it. */
  readonly url?: string;
  readonly description?: string | null;
  readonly eventTypes?: string[] | null;
  readonly include?: string[];
}

/** Changes an endpoint. This applies to events from now on; deliveries already owed go to the new address. */
export function updateWebhookEndpoint(
  deps: EndpointDependencies,
  endpointId: string,
  wanted: EndpointChange,
  context: WorkspaceCommandContext,
) {
  return transactEndpoints(deps, (state) => updateEndpoint(state, { endpointId, ...wanted }), context);
}

/** Disables an endpoint on request. Deliveries it is owed are skipped. */
export function disableWebhookEndpoint(
  deps: EndpointDependencies,
  endpointId: string,
  context: WorkspaceCommandContext,
) {
  return transactEndpoints(deps, (state) => disableEndpoint(state, endpointId, "manual"), context);
}

/** Enables an endpoint for events from now on. Those it missed can be recovered. */
export function enableWebhookEndpoint(
  deps: EndpointDependencies,
  endpointId: string,
  context: WorkspaceCommandContext,
) {
  return transactEndpoints(deps, (state) => enableEndpoint(state, endpointId), context);
}

export function deleteWebhookEndpoint(
  deps: EndpointDependencies,
  endpointId: string,
  context: WorkspaceCommandContext,
) {
  return transactEndpoints(deps, (state) => deleteEndpoint(state, endpointId), context);
}

/** A rotation that somebody asks for. */
interface SecretRotation {
  readonly endpointId: string;
  readonly overlapMs: number;
  /** Given by a request that may be repeated, so that a repeat is known. */
  readonly rotationId?: string;
}

type SecretRotationOutcome =
  | { readonly kind: "rotated"; readonly secret: string }
  | { readonly kind: "repeated" }
  | { readonly kind: "notFound" };

/** Gives an endpoint a new secret, which only this answer carries. */
export async function rotateWebhookSecret(
  deps: EndpointDependencies & Pick<Dependencies, "keys">,
  { endpointId, overlapMs, rotationId }: SecretRotation,
  context: WorkspaceCommandContext,
): Promise<SecretRotationOutcome> {
  const secret = randomBytes(SECRET_BYTES);
  const place = { workspaceId: context.workspaceId, endpointId };
  const sealedSecret = deps.keys.encryptSecret(secret, place);
  const rotation = { endpointId, sealedSecret, ...omitUndefined({ rotationId }) };
  const decide = (state: WebhooksState) => rotateSecret(state, rotation, context.at, overlapMs);
  const kind = await transactEndpoints(deps, decide, context);
  return kind === "rotated" ? { kind, secret: webhookSecretText(secret) } : { kind };
}

/** Why we disable an endpoint that nobody asked us to disable. */
export type FailureReason = Exclude<DisabledReason, "manual">;

/**
 * Disables an endpoint because of the outcome of its calls; true if it was enabled before. With `url`, leaves it alone if
 * it has moved since: calls to the old URL say nothing about the new one.
 */
export async function disableFailedEndpoint(
  deps: EndpointDependencies,
  { endpointId, url }: { readonly endpointId: string; readonly url?: string },
  reason: FailureReason,
  context: WorkspaceCommandContext,
): Promise<boolean> {
  let hasChanged = false;
  const decide = (state: WebhooksState): ReturnType<typeof disableEndpoint> => {
    const hasMoved = url !== undefined && state.endpoints.get(endpointId)?.url !== url;
    if (hasMoved) return decided("notFound");
    const decision = disableEndpoint(state, endpointId, reason);
    hasChanged = decision.events.length > 0;
    return decision;
  };
  await transactEndpoints(deps, decide, context);
  return hasChanged;
}
