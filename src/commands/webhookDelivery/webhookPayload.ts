import type { EmailContent, EmailEvent } from "../../domain/email/events.ts";
import { type EmailState, emailDecider } from "../../domain/email/state.ts";
import { suppressionCodec } from "../../domain/suppression/events.ts";
import { webhookCodec } from "../../domain/webhook/events.ts";
import { INCLUDABLE_MEMBERS, type IncludableMember } from "../../domain/webhook/includableMembers.ts";
import type { DeliveryOrigin } from "../../domain/webhookDelivery/events.ts";
import { isPublished, type PublishedEvent } from "../../domain/webhookEventTypes.ts";
import { idOfStream } from "../../kernel/event/idOfStream.ts";
import { jsonBytes, jsonExcerpt } from "../../kernel/text/textLength.ts";
import { rfc3339 } from "../../kernel/time.ts";
import type { RecordedEvent } from "../../ports/eventStore.ts";
import type { Dependencies } from "../dependencies.ts";
import { withReplyTexts } from "../email/decryptRelayReplies.ts";
import {
  contentSaltOf,
  type EmailHistory,
  type HistoryEvent,
  readEmailHistory,
} from "../email/emailHistory.ts";
import { contentOf } from "../email/readEmail.ts";

/** The version of all payloads. `http/webhook/webhookEventSchemas` describes them. */
const VERSION = 1;
/** Every payload is shorter, in bytes. */
export const PAYLOAD_BYTES_MAX = 24_000;

/** The body of a webhook call (Standard Webhooks): the type, the event's own time, and its data. */
export interface WebhookPayload {
  readonly type: string;
  readonly version: typeof VERSION;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** What a message's event may tell besides; null where the content is gone. */
type Includable = Readonly<Record<IncludableMember, string | null>>;

/** An event for all its endpoints. */
export interface MappedEvent {
  readonly payload: WebhookPayload;
  /** Null for an event that is about no message. */
  readonly includable: Includable | null;
  readonly answer: AnswerKeeping;
}

/** The payload for one endpoint, and how to keep its answer, which may repeat the payload in any spelling. */
export interface EndpointEvent extends Pick<MappedEvent, "payload" | "answer"> {
  /** The addresses and the subject in the payload. */
  readonly included: readonly string[];
}

export type AnswerKeeping =
  /** The payload names nobody. */
  | { readonly kind: "plain" }
  /** Encrypted with the salt of an event that is erased with the person. */
  | { readonly kind: "encrypted"; readonly salt: string }
  /** That event is gone. */
  | { readonly kind: "dropped" };

type Reader = Pick<Dependencies, "store" | "content" | "webhooks" | "keys">;

/** Builds a delivery's payload from the log as it is now, without anything erased. Throws `StoreError`. */
export function mapToWebhookEvent(deps: Reader, origin: DeliveryOrigin): Promise<MappedEvent> {
  if (origin.eventStream.startsWith("email-")) return mapEmailEvent(deps, origin);
  return origin.eventStream.startsWith("suppression-")
    ? mapSuppressionEvent(deps, origin)
    : mapEndpointEvent(deps, origin);
}

/** The event as an endpoint is sent it, with those of `INCLUDABLE_MEMBERS` that it asks for. */
export function withIncluded(
  { payload, includable, answer }: MappedEvent,
  include: readonly string[],
): EndpointEvent {
  const asked = INCLUDABLE_MEMBERS.filter((name) => include.includes(name));
  if (includable === null || asked.length === 0) return { payload, answer, included: [] };
  const membersOf = (known: Includable) => Object.fromEntries(asked.map((name) => [name, known[name]]));
  const payloadWith = (members: Partial<Includable>) => ({
    ...payload,
    data: { ...payload.data, ...members },
  });
  const excess = jsonBytes(payloadWith(membersOf(includable))) - (PAYLOAD_BYTES_MAX - 1);
  const members = membersOf({ ...includable, subject: withoutExcess(includable.subject, excess) });
  const included = Object.values(members).filter((text) => text !== null);
  return { payload: payloadWith(members), answer, included };
}

/** The subject cut by so many bytes of JSON. Only beside large metadata is there too little room for a whole one. */
function withoutExcess(subject: string | null, bytes: number): string | null {
  return subject === null || bytes <= 0 ? subject : jsonExcerpt(subject, jsonBytes(subject) - bytes);
}

function keepingBy(salt: string | null): AnswerKeeping {
  return salt === null ? { kind: "dropped" } : { kind: "encrypted", salt };
}

/** The message's state right after an event: the status in the payload is that of the time, not of now. */
function stateAfter({ events }: EmailHistory, { sequence }: HistoryEvent): EmailState {
  const until = events.filter((one) => one.sequence <= sequence).map(({ event }) => event);
  return until.reduce(emailDecider.evolve, emailDecider.initialState);
}

type PublishedEmail = PublishedEvent<EmailEvent>;

/** The members of a message event's payload beyond those that all of them have, as the event names them. */
const OWN_MEMBERS: {
  readonly [Type in PublishedEmail["type"]]: readonly (keyof Extract<
    PublishedEmail,
    { type: Type }
  >["data"])[];
} = {
  EmailQueued: [],
  EmailScheduled: ["scheduledAt"],
  EmailSent: ["attempt", "transport", "reply", "relayId", "source"],
  EmailDeferred: ["attempt", "reason", "code", "enhancedCode", "reply", "nextAttemptAt"],
  EmailDelivered: ["attempt", "source"],
  EmailBounced: ["attempt", "reason", "source", "code", "enhancedCode", "reply"],
  EmailComplained: ["attempt", "feedbackType", "source"],
  EmailFailed: ["attempt", "reason", "code", "enhancedCode", "reply"],
  EmailSuppressed: ["reason"],
  EmailCanceled: [],
};

function ownMembers({ event }: HistoryEvent): Readonly<Record<string, unknown>> {
  if (!isPublished(event)) return {};
  // A bounce without a source is the relay's own answer.
  const data: Readonly<Record<string, unknown>> =
    event.type === "EmailBounced" ? { source: "relay", ...event.data } : event.data;
  return Object.fromEntries(OWN_MEMBERS[event.type].map((name) => [snakeCase(name), data[name] ?? null]));
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

async function mapEmailEvent(deps: Reader, origin: DeliveryOrigin): Promise<MappedEvent> {
  const id = idOfStream(origin.eventStream);
  const history = await readEmailHistory(deps.store, id);
  const published = history.events.find(({ sequence }) => sequence === origin.eventRevision);
  const state = published === undefined ? null : stateAfter(history, published);
  if (published === undefined || state === null)
    throw new Error(`the event ${origin.eventId} is not readable`);
  const content: EmailContent | null = await contentOf(deps, id, history);
  const { from = null, to = null, subject = null } = content ?? {};
  const salt = contentSaltOf(history);
  const payload: WebhookPayload = {
    type: origin.eventType,
    version: VERSION,
    timestamp: published.at,
    data: {
      id,
      object: "email",
      status: state.status,
      created_at: rfc3339(state.acceptedAt),
      test: state.isTest,
      sequence: published.sequence,
      template_id: state.templateId,
      template_version_id: state.templateVersionId,
      metadata: content?.metadata ?? null,
      tags: content?.tags ?? [],
      ...withReplyTexts(deps.keys, salt, [published]).map(ownMembers)[0],
    },
  };
  return { payload, includable: { from, to, subject }, answer: keepingBy(salt) };
}

async function readEvent({ store }: Reader, stream: string, revision: number): Promise<RecordedEvent | null> {
  const [event] = await store.read(stream, revision, 1);
  return event?.revision === revision ? event : null;
}

/** A suppression and its end are three events, in this order: the address, the suppression, the end. */
const SUPPRESSION_EVENTS = 3;

async function mapSuppressionEvent({ store }: Reader, origin: DeliveryOrigin): Promise<MappedEvent> {
  const { eventStream, eventRevision } = origin;
  const from = Math.max(0, eventRevision - SUPPRESSION_EVENTS + 1);
  const history = (await store.read(eventStream, from, SUPPRESSION_EVENTS))
    .filter(({ revision }) => revision <= eventRevision)
    .map((recorded) => ({ recorded, event: suppressionCodec.decode(recorded) }));
  const published = history.at(-1);
  if (published?.recorded.revision !== eventRevision)
    throw new Error(`the event ${origin.eventId} is not readable`);
  let address: string | null = null;
  let salt: string | null = null;
  let id = published.recorded.id;
  for (const { recorded, event } of history) {
    if (event.type === "SuppressionAddressStored") {
      address = event.data.address;
      salt = event.data.salt ?? null;
    }
    if (event.type === "RecipientSuppressed") id = recorded.id;
  }
  const created = published.event.type === "RecipientSuppressed" ? published.event.data : null;
  const payload: WebhookPayload = {
    type: origin.eventType,
    version: VERSION,
    timestamp: String(published.recorded.metadata.at),
    data: {
      id,
      object: "suppression",
      address,
      sequence: eventRevision,
      ...(created ? { reason: created.reason, email_id: created.emailId ?? null } : {}),
    },
  };
  return { payload, includable: null, answer: keepingBy(salt) };
}

async function mapEndpointEvent(deps: Reader, origin: DeliveryOrigin): Promise<MappedEvent> {
  const recorded = await readEvent(deps, origin.eventStream, origin.eventRevision);
  if (recorded === null) throw new Error(`the event ${origin.eventId} is not readable`);
  const { type, data } = webhookCodec.decode(recorded);
  const { endpoints } = await deps.webhooks.get(origin.workspaceId);
  const details = type === "WebhookEndpointDisabled" ? { reason: data.reason } : {};
  const payload: WebhookPayload = {
    type: origin.eventType,
    version: VERSION,
    timestamp: String(recorded.metadata.at),
    data: {
      id: data.endpointId,
      object: "webhook_endpoint",
      url: endpoints.get(data.endpointId)?.url ?? null,
      sequence: origin.eventRevision,
      ...details,
    },
  };
  return { payload, includable: null, answer: { kind: "plain" } };
}
