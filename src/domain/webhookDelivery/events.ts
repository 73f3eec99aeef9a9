import { type Static, Type } from "@sinclair/typebox";
import { createCodec, type EventOf } from "../../kernel/event/eventCodec.ts";

/** Which event goes to which endpoint. Every event that can be a stream's first carries it. */
export const DeliveryOrigin = Type.Object({
  workspaceId: Type.String(),
  endpointId: Type.String(),
  /** The event of the log to deliver: its id, stream and revision. */
  eventId: Type.String(),
  eventStream: Type.String(),
  eventRevision: Type.Integer(),
  /** As subscribers know it: `email.sent`. */
  eventType: Type.String(),
});
export type DeliveryOrigin = Static<typeof DeliveryOrigin>;

/** What an endpoint answered, or that it did not. */
const Outcome = {
  attempt: Type.Integer(),
  durationMs: Type.Integer(),
  /** Absent if there was no answer. */
  statusCode: Type.Optional(Type.Integer()),
  /**
   * The beginning of the answer's body, redacted. If the payload names a person, `sealedExcerpt` has it instead,
   * encrypted with the salt of an event that is erased with that person.
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
    /** False if the fault was ours: the delivery has lost nothing but time. */
    attemptBurnt: Type.Boolean(),
    /** Absent after the last attempt. */
    nextAttemptAt: Type.Optional(Type.String()),
  }),
  WebhookDeliveryExhausted: Type.Object({ reason: Type.String() }),
  WebhookDeliverySkipped: Type.Object({ origin: DeliveryOrigin, reason: Type.String() }),
  WebhookRedeliveryRequested: Type.Object({ origin: DeliveryOrigin, at: Type.String() }),
};

/** The names of the types are the storage format. */
export type WebhookDeliveryEvent = EventOf<typeof schemas>;
export const webhookDeliveryCodec = createCodec(schemas);

export function webhookDeliveryStream(id: string): string {
  return `webhookdelivery-${id}`;
}
