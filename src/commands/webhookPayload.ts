import type { EmailContent, EmailEvent } from "../domain/email/events.ts";
import type { EmailStatus } from "../domain/email/state.ts";
import { suppressionCodec } from "../domain/suppression/events.ts";
import { webhookCodec } from "../domain/webhook/events.ts";
import type { DeliveryOrigin } from "../domain/webhookDelivery/events.ts";
import { rfc3339 } from "../kernel/time.ts";
import type { RecordedEvent } from "../ports/eventStore.ts";
import { contentOf, readStory, type StoryEvent } from "./readEmail.ts";
import type { Services } from "./services.ts";

/** What an endpoint is sent (Standard Webhooks): the type, the event's own time, and what it tells. */
export interface WebhookPayload {
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

type Reader = Pick<Services, "store" | "content" | "webhooks">;

/** The payload of a delivery, from the log as it is now: what was erased is not told any more. Throws `StoreError`. */
export function webhookPayload(services: Reader, origin: DeliveryOrigin): Promise<WebhookPayload> {
  if (origin.eventStream.startsWith("email-")) return emailPayload(services, origin);
  return origin.eventStream.startsWith("suppression-")
    ? suppressionPayload(services, origin)
    : endpointPayload(services, origin);
}

/** The status that an event puts its message into. */
const STATUS: Partial<Record<EmailEvent["type"], EmailStatus>> = {
  EmailQueued: "queued",
  EmailSent: "sent",
  EmailDeferred: "deferred",
  EmailBounced: "bounced",
  EmailFailed: "failed",
  EmailSuppressed: "suppressed",
  EmailCanceled: "canceled",
};

/** What an event of a message adds to what is told of it always. */
function emailFacts({ event }: StoryEvent): Readonly<Record<string, unknown>> {
  switch (event.type) {
    case "EmailSent":
      return { attempt: event.data.attempt, transport: event.data.transport, reply: event.data.reply };
    case "EmailDeferred":
      return {
        attempt: event.data.attempt,
        reason: event.data.reason,
        code: event.data.code ?? null,
        reply: event.data.reply ?? null,
        next_attempt_at: event.data.nextAttemptAt,
      };
    case "EmailBounced":
    case "EmailFailed":
      return {
        attempt: event.data.attempt,
        reason: event.data.reason,
        code: event.data.code ?? null,
        reply: event.data.reply ?? null,
      };
    case "EmailSuppressed":
      return { reason: event.data.reason };
    default:
      return {};
  }
}

async function emailPayload(services: Reader, origin: DeliveryOrigin): Promise<WebhookPayload> {
  const id = origin.eventStream.slice("email-".length);
  const story = await readStory(services.store, id);
  const told = story.events.find(({ sequence }) => sequence === origin.eventRevision);
  if (told === undefined || story.state === null)
    throw new Error(`the event ${origin.eventId} is not readable`);
  const content: EmailContent | null = await contentOf(services, id, story);
  return {
    type: origin.eventType,
    timestamp: told.at,
    data: {
      id,
      object: "email",
      status: STATUS[told.event.type],
      created_at: rfc3339(story.state.acceptedAt),
      sequence: told.sequence,
      metadata: content?.metadata ?? null,
      ...emailFacts(told),
    },
  };
}

async function readEvent({ store }: Reader, stream: string, revision: number): Promise<RecordedEvent | null> {
  const [event] = await store.read(stream, revision, 1);
  return event?.revision === revision ? event : null;
}

async function suppressionPayload(services: Reader, origin: DeliveryOrigin): Promise<WebhookPayload> {
  const { eventStream, eventRevision } = origin;
  const recorded = await readEvent(services, eventStream, eventRevision);
  if (recorded === null) throw new Error(`the event ${origin.eventId} is not readable`);
  const { type, data } = suppressionCodec.decode(recorded);
  const created = type === "RecipientSuppressed" ? data : null;
  return {
    type: origin.eventType,
    timestamp: String(recorded.metadata.at),
    data: {
      object: "suppression",
      address: await suppressedAddress(services, eventStream, eventRevision),
      sequence: eventRevision,
      ...(created ? { reason: created.reason, email_id: created.emailId ?? null } : {}),
    },
  };
}

/** The address that the stream held last at this place; null when it was erased. */
async function suppressedAddress({ store }: Reader, stream: string, before: number): Promise<string | null> {
  let address: string | null = null;
  for (const recorded of await store.read(stream, 0, before + 1)) {
    const { type, data } = suppressionCodec.decode(recorded);
    if (type === "SuppressionAddressStored" && recorded.revision < before) address = data.address;
  }
  return address;
}

async function endpointPayload(services: Reader, origin: DeliveryOrigin): Promise<WebhookPayload> {
  const recorded = await readEvent(services, origin.eventStream, origin.eventRevision);
  if (recorded === null) throw new Error(`the event ${origin.eventId} is not readable`);
  const { type, data } = webhookCodec.decode(recorded);
  const { endpoints } = await services.webhooks.get(origin.workspaceId);
  const told = type === "WebhookEndpointDisabled" ? { reason: data.reason } : {};
  return {
    type: origin.eventType,
    timestamp: String(recorded.metadata.at),
    data: {
      id: data.endpointId,
      object: "webhook_endpoint",
      url: endpoints.get(data.endpointId)?.url ?? null,
      sequence: origin.eventRevision,
      ...told,
    },
  };
}
