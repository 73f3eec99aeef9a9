import { Type } from "@sinclair/typebox";
import { type EventOf, makeCodec } from "../../kernel/codec.ts";

const schemas = {
  WebhookEndpointRegistered: Type.Object({
    endpointId: Type.String(),
    workspaceId: Type.String(),
    /** Normalised: what makes a destination unique. */
    url: Type.String(),
    description: Type.Union([Type.String(), Type.Null()]),
    /** Null: all. */
    eventTypes: Type.Union([Type.Array(Type.String()), Type.Null()]),
    /** AES-256-GCM under the instance's key. */
    sealedSecret: Type.String(),
  }),
};

/** The case names are the storage format. */
export type WebhookEvent = EventOf<typeof schemas>;
export const webhookCodec = makeCodec(schemas);

/** All endpoints of a workspace share one stream, so that a destination is unique by expected revision. */
export function webhooksStream(workspaceId: string): string {
  return `webhooks-${workspaceId}`;
}

/** What an endpoint can ask for. */
export const WEBHOOK_EVENT_TYPES = [
  "email.queued",
  "email.sent",
  "email.delivery_delayed",
  "email.bounced",
  "email.failed",
  "email.suppressed",
  "email.canceled",
  "suppression.created",
  "suppression.deleted",
  "webhook.disabled",
  "webhook.test",
] as const;
