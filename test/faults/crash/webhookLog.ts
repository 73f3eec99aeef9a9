import { emailCodec } from "../../../src/domain/email/events.ts";
import { suppressionCodec } from "../../../src/domain/suppression/events.ts";
import { type WebhookEvent, webhookCodec } from "../../../src/domain/webhook/events.ts";
import {
  type WebhookDeliveryEvent,
  webhookDeliveryCodec,
} from "../../../src/domain/webhookDelivery/events.ts";
import {
  type WebhookDeliveryState,
  webhookDeliveryDecider,
} from "../../../src/domain/webhookDelivery/state.ts";
import { epochMs } from "../../../src/kernel/time.ts";
import {
  type EventStore,
  LOG_START,
  type Position,
  type RecordedEvent,
} from "../../../src/ports/eventStore.ts";

/** The events that subscribers must get, written down independently of the service's own table, which is under test. */
const TOLD: ReadonlyMap<string, string> = new Map([
  ["EmailQueued", "email.queued"],
  ["EmailSent", "email.sent"],
  ["EmailDeferred", "email.delivery_delayed"],
  ["EmailDelivered", "email.delivered"],
  ["EmailBounced", "email.bounced"],
  ["EmailComplained", "email.complained"],
  ["EmailFailed", "email.failed"],
  ["EmailSuppressed", "email.suppressed"],
  ["EmailCanceled", "email.canceled"],
  ["RecipientSuppressed", "suppression.created"],
  ["RecipientUnsuppressed", "suppression.deleted"],
  ["WebhookEndpointDisabled", "webhook.disabled"],
]);
/** Deferrals that are no delay of the message's own. */
const SILENT: ReadonlySet<string> = new Set([
  "resumed",
  "sending_paused",
  "sender_unavailable",
  "store_unavailable",
]);
const TYPES = [
  ...[...emailCodec.types, ...suppressionCodec.types].filter((type) => TOLD.has(type)),
  ...webhookCodec.types,
  ...webhookDeliveryCodec.types,
];

/** An event of one delivery; `place` counts the events of the log. */
export interface DeliveryEntry {
  readonly event: WebhookDeliveryEvent;
  readonly at: number;
  readonly place: number;
}

/** One delivery as the log tells it. */
export interface DeliveryStory {
  /** Its stream's, and with that its `webhook-id`. */
  readonly id: string;
  /** The event and the endpoint that it says it is about. */
  readonly about: string;
  readonly entries: DeliveryEntry[];
  state: WebhookDeliveryState;
}

interface Endpoint {
  readonly workspaceId: string;
  types: readonly string[] | null;
  isActive: boolean;
}

/** Who was owed what, and what became of it: from the log alone, read as it grows. */
export class WebhookLog {
  /** Events that anybody could have asked for. */
  events = 0;
  /** `<event> <endpoint>` of everything that is owed, with the event's place. */
  readonly owed = new Map<string, number>();
  /** `<event> <endpoint>` of what endpoints missed while they were disabled: theirs once they ask for it. */
  readonly missed = new Set<string>();
  /** The owed deliveries that are tests. */
  readonly tests = new Set<string>();
  readonly stories = new Map<string, DeliveryStory>();
  /** When endpoints were disabled or deleted, by endpoint. */
  readonly ends = new Map<string, number[]>();
  private readonly endpoints = new Map<string, Endpoint>();
  private position: Position = LOG_START;
  private place = 0;

  /** Reads new events. */
  async read(store: EventStore): Promise<void> {
    for await (const { events, position } of store.readAll(this.position, { types: TYPES })) {
      for (const event of events) this.take(event);
      this.position = position;
    }
  }

  /** What is owed and has not ended: `<event> <endpoint>`. */
  pending(): readonly string[] {
    const ended = new Set([...this.stories.values()].filter(hasEnded).map(({ about }) => about));
    return [...this.owed.keys()].filter((about) => !ended.has(about));
  }

  private take(recorded: RecordedEvent): void {
    this.place += 1;
    if (webhookDeliveryCodec.types.includes(recorded.type)) this.takeDelivery(recorded);
    else if (webhookCodec.types.includes(recorded.type)) this.takeEndpoint(recorded);
    else this.owe(String(recorded.metadata.workspaceId), recorded);
  }

  private owe(workspaceId: string, recorded: RecordedEvent): void {
    if (recorded.type === "EmailDeferred") {
      const { type, data } = emailCodec.decode(recorded);
      if (type === "EmailDeferred" && SILENT.has(data.reason)) return;
    }
    this.events += 1;
    const told = TOLD.get(recorded.type) ?? "";
    for (const [id, endpoint] of this.endpoints) {
      const isAsking = endpoint.types === null || endpoint.types.includes(told);
      if (endpoint.workspaceId !== workspaceId || !isAsking) continue;
      if (endpoint.isActive) this.owed.set(`${recorded.id} ${id}`, this.place);
      else this.missed.add(`${recorded.id} ${id}`);
    }
  }

  private takeEndpoint(recorded: RecordedEvent): void {
    const event = webhookCodec.decode(recorded);
    const id = event.data.endpointId;
    if (event.type === "WebhookTestRequested") {
      this.events += 1;
      this.owed.set(`${recorded.id} ${id}`, this.place);
      this.tests.add(`${recorded.id} ${id}`);
    }
    this.changeEndpoint(id, event);
    if (event.type === "WebhookEndpointDisabled")
      this.owe(recorded.stream.slice("webhooks-".length), recorded);
  }

  private changeEndpoint(id: string, event: WebhookEvent): void {
    const endpoint = this.endpoints.get(id);
    if (event.type === "WebhookEndpointRegistered") {
      const { workspaceId, eventTypes: types } = event.data;
      this.endpoints.set(id, { workspaceId, types, isActive: true });
    } else if (event.type === "WebhookEndpointUpdated" && event.data.eventTypes !== undefined) {
      if (endpoint) endpoint.types = event.data.eventTypes;
    } else if (event.type === "WebhookEndpointEnabled") {
      if (endpoint) endpoint.isActive = true;
    } else if (event.type === "WebhookEndpointDisabled" || event.type === "WebhookEndpointDeleted") {
      if (endpoint) endpoint.isActive = false;
      this.ends.set(id, [...(this.ends.get(id) ?? []), this.place]);
    }
  }

  private takeDelivery(recorded: RecordedEvent): void {
    const id = recorded.stream.slice("webhookdelivery-".length);
    const event = webhookDeliveryCodec.decode(recorded);
    const story = this.stories.get(id) ?? newStory(id, event);
    const at = epochMs(String(recorded.metadata.at));
    story.entries.push({ event, at, place: this.place });
    story.state = webhookDeliveryDecider.evolve(story.state, event);
    this.stories.set(id, story);
  }
}

function newStory(id: string, { data }: WebhookDeliveryEvent): DeliveryStory {
  const about = "origin" in data ? `${data.origin.eventId} ${data.origin.endpointId}` : "nothing";
  return { id, about, entries: [], state: webhookDeliveryDecider.initialState };
}

const ENDED: ReadonlySet<string | undefined> = new Set(["delivered", "exhausted", "skipped"]);

export function hasEnded({ state }: DeliveryStory): boolean {
  return ENDED.has(state?.status);
}
