import { type Static, Type } from "@sinclair/typebox";
import { type EventOf, makeCodec } from "../../kernel/event/codec.ts";

/** Which event goes to which endpoint. Every event that can be a stream's first carries it. */
export const DeliveryOrigin = Type.Object({
  workspaceId: Type.String(),
  endpointId: Type.String(),
  /** The event of the log that is delivered: its id, and where it is. */
  eventId: Type.String(),
  eventStream: Type.String(),
  eventRevision: Type.Integer(),
  /** As subscribers know it: `email.sent`. */
  eventType: Type.String(),
});
export type DeliveryOrigin = Static<typeof DeliveryOrigin>;

/** What an endpoint answered, or why it did not. */
const Outcome = {
  attempt: Type.Integer(),
  durationMs: Type.Integer(),
  /** Absent when there was no answer. */
  statusCode: Type.Optional(Type.Integer()),
  /**
   * The beginning of the answer's body, addresses replaced. Of what names a person it is encrypted with the salt of an
   * event that is erased with them.
   */
  excerpt: Type.Optional(Type.String()),
  sealedExcerpt: Type.Optional(Type.String()),
};

const schemas = {
  WebhookAttemptStarted: Type.Object({
    origin: DeliveryOrigin,
    attempt: Type.Integer(),
    worker: Type.String(),
    leaseMs: Type.Integer(),
  }),
  WebhookDelivered: Type.Object(Outcome),
  WebhookAttemptFailed: Type.Object({
    ...Outcome,
    reason: Type.String(),
    /** False when the fault was ours: the delivery has lost nothing but time. */
    attemptBurnt: Type.Boolean(),
    /** Absent after the last attempt. */
    nextAttemptAt: Type.Optional(Type.String()),
  }),
  WebhookDeliveryExhausted: Type.Object({ reason: Type.String() }),
  WebhookDeliverySkipped: Type.Object({ origin: DeliveryOrigin, reason: Type.String() }),
  WebhookRedeliveryRequested: Type.Object({ origin: DeliveryOrigin, at: Type.String() }),
};

/** The case names are the storage format. */
export type WebhookDeliveryEvent = EventOf<typeof schemas>;
export const webhookDeliveryCodec = makeCodec(schemas);

/** The stream of one event's way to one endpoint. */
export function webhookDeliveryStream(id: string): string {
  return `webhookdelivery-${id}`;
}
