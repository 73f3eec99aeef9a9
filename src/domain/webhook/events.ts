import { Type } from "@sinclair/typebox";
import { createCodec, type EventOf, orNull } from "../../kernel/event/eventCodec.ts";

const Description = orNull(Type.String());
/** Null: all. */
const EventTypes = orNull(Type.Array(Type.String()));
/** Some of `INCLUDABLE_MEMBERS`. */
const Include = Type.Array(Type.String());

const schemas = {
  WebhookEndpointRegistered: Type.Object({
    endpointId: Type.String(),
    workspaceId: Type.String(),
    /** Normalised; unique within the workspace. */
    url: Type.String(),
    description: Description,
    eventTypes: EventTypes,
    /** Absent: none. */
    include: Type.Optional(Include),
    /** AES-256-GCM under the instance's key; bound to the endpoint if it begins with `v2.`. */
    sealedSecret: Type.String(),
  }),
  /** Only the members that change. */
  WebhookEndpointUpdated: Type.Object({
    endpointId: Type.String(),
    url: Type.Optional(Type.String()),
    description: Type.Optional(Description),
    eventTypes: Type.Optional(EventTypes),
    include: Type.Optional(Include),
  }),
  WebhookEndpointDisabled: Type.Object({
    endpointId: Type.String(),
    reason: Type.Union([Type.Literal("manual"), Type.Literal("failing"), Type.Literal("gone")]),
  }),
  WebhookEndpointEnabled: Type.Object({ endpointId: Type.String() }),
  /** The previous secret signs beside this one until `previousUntil`; older ones sign no longer than that either. */
  WebhookEndpointSecretRotated: Type.Object({
    endpointId: Type.String(),
    sealedSecret: Type.String(),
    previousUntil: Type.String(),
    /** The id of the request, if it may be repeated: a repeat gives no events. */
    rotationId: Type.Optional(Type.String()),
  }),
  WebhookEndpointDeleted: Type.Object({ endpointId: Type.String() }),
  WebhookTestRequested: Type.Object({ endpointId: Type.String() }),
};

/** The names of the types are the storage format. */
export type WebhookEvent = EventOf<typeof schemas>;
export const webhookCodec = createCodec(schemas);

/** All endpoints of a workspace share one stream, so the expected revision keeps destinations unique. */
export function webhooksStream(workspaceId: string): string {
  return `webhooks-${workspaceId}`;
}
