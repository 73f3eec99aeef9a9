import { randomBytes } from "node:crypto";
import { registerEndpoint } from "../../domain/webhook/decisions.ts";
import type { WebhookEndpoint } from "../../domain/webhook/state.ts";
import { webhookSecretText } from "../../kernel/crypto/webhookSignature.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { newId } from "../../kernel/ids.ts";
import { rfc3339 } from "../../kernel/time.ts";
import type { Dependencies } from "../dependencies.ts";
import { type EndpointDependencies, transactEndpoints } from "./transactEndpoints.ts";

/** The length of a signing secret. */
export const SECRET_BYTES = 32;

type RegisterOutcome =
  | { readonly kind: "registered"; readonly id: string; readonly secret: string; readonly createdAt: string }
  | { readonly kind: "alreadyExists" | "repeated" | "limitReached" };

/** An endpoint that somebody asks for. */
interface WantedEndpoint
  extends Pick<WebhookEndpoint, "url" | "description" | "eventTypes">,
    Partial<Pick<WebhookEndpoint, "include">> {
  /** By default a fresh one. A request that may be repeated gives its own, so that a repeat is known. */
  readonly id?: string;
}

/**
 * Registers an endpoint with a new signing secret (Standard Webhooks: `whsec_` and base64), which only this answer
 * carries. The expected revision of the workspace's stream keeps two endpoints from having the same destination.
 */
export async function registerWebhookEndpoint(
  deps: EndpointDependencies & Pick<Dependencies, "keys">,
  { url, description, eventTypes, include = [], id = newId() }: WantedEndpoint,
  context: WorkspaceCommandContext,
): Promise<RegisterOutcome> {
  const { workspaceId } = context;
  const secret = randomBytes(SECRET_BYTES);
  const endpoint = {
    endpointId: id,
    workspaceId,
    url,
    description,
    eventTypes: eventTypes === null ? null : [...eventTypes],
    ...(include.length === 0 ? {} : { include: [...include] }),
    sealedSecret: deps.keys.encryptSecret(secret, { workspaceId, endpointId: id }),
  };
  const outcome = await transactEndpoints(deps, (state) => registerEndpoint(state, endpoint), context);
  if (outcome !== "registered") return { kind: outcome };
  return { kind: "registered", id, secret: webhookSecretText(secret), createdAt: rfc3339(context.at) };
}
