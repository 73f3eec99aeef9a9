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
import { reachesEndpoints, webhookEventType } from "../../../src/domain/webhookEventTypes.ts";
import { epochMs } from "../../../src/kernel/time.ts";
import {
  type EventStore,
  LOG_START,
  type Position,
  type RecordedEvent,
} from "../../../src/ports/eventStore.ts";

const TYPES = [
  ...[...emailCodec.types, ...suppressionCodec.types].filter((type) => webhookEventType(type) !== null),
  ...webhookCodec.types,
  ...webhookDeliveryCodec.types,
];

/** An event of one delivery; `position` counts the events read from the log. */
export interface DeliveryEntry {
  readonly event: WebhookDeliveryEvent;
  readonly at: number;
  readonly position: number;
}

/** One delivery, as recorded in the log. */
export interface DeliveryHistory {
  /** The id in its stream's name, which is its `webhook-id`. */
  readonly id: string;
  /** `<event> <endpoint>` according to its origin. */
  readonly target: string;
  readonly entries: DeliveryEntry[];
  state: WebhookDeliveryState;
}

interface Endpoint {
  readonly workspaceId: string;
  types: readonly string[] | null;
  isActive: boolean;
}

/**
 * The deliveries to expect and their histories, computed from the log alone, which is read as it grows. Which events
 * endpoints receive is the service's own table: `test/projections` checks it event by event.
 */
export class WebhookLog {
  /** The number of events that endpoints can subscribe to. */
  events = 0;
  /** `<event> <endpoint>` of every expected delivery, with the event's position. */
  readonly expected = new Map<string, number>();
  /** `<event> <endpoint>` of what endpoints missed while disabled: delivered only on request. */
  readonly missed = new Set<string>();
  /** The expected deliveries that are tests. */
  readonly tests = new Set<string>();
  readonly histories = new Map<string, DeliveryHistory>();
  /** The positions at which endpoints were disabled or deleted, by endpoint. */
  readonly endpointEnds = new Map<string, number[]>();
  private readonly endpoints = new Map<string, Endpoint>();
  private position: Position = LOG_START;
  private eventCount = 0;

  /** Reads new events. */
  async read(store: EventStore): Promise<void> {
    for await (const { events, position } of store.readAll(this.position, { types: TYPES })) {
      for (const event of events) this.apply(event);
      this.position = position;
    }
  }

  /** Expected deliveries that have not ended: `<event> <endpoint>`. */
  pending(): readonly string[] {
    const ended = new Set([...this.histories.values()].filter(hasEnded).map(({ target }) => target));
    return [...this.expected.keys()].filter((target) => !ended.has(target));
  }

  private apply(recorded: RecordedEvent): void {
    this.eventCount += 1;
    if (webhookDeliveryCodec.types.includes(recorded.type)) this.applyDeliveryEvent(recorded);
    else if (webhookCodec.types.includes(recorded.type)) this.applyEndpointEvent(recorded);
    else this.expectDeliveries(String(recorded.metadata.workspaceId), recorded);
  }

  private expectDeliveries(workspaceId: string, recorded: RecordedEvent): void {
    if (emailCodec.types.includes(recorded.type) && !reachesEndpoints(emailCodec.decode(recorded))) return;
    this.events += 1;
    const webhookType = webhookEventType(recorded.type) ?? "";
    for (const [id, endpoint] of this.endpoints) {
      const isSubscribed = endpoint.types === null || endpoint.types.includes(webhookType);
      if (endpoint.workspaceId !== workspaceId || !isSubscribed) continue;
      if (endpoint.isActive) this.expected.set(`${recorded.id} ${id}`, this.eventCount);
      else this.missed.add(`${recorded.id} ${id}`);
    }
  }

  private applyEndpointEvent(recorded: RecordedEvent): void {
    const event = webhookCodec.decode(recorded);
    const id = event.data.endpointId;
    if (event.type === "WebhookTestRequested") {
      this.events += 1;
      this.expected.set(`${recorded.id} ${id}`, this.eventCount);
      this.tests.add(`${recorded.id} ${id}`);
    }
    this.changeEndpoint(id, event);
    if (event.type === "WebhookEndpointDisabled")
      this.expectDeliveries(recorded.stream.slice("webhooks-".length), recorded);
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
      this.endpointEnds.set(id, [...(this.endpointEnds.get(id) ?? []), this.eventCount]);
    }
  }

  private applyDeliveryEvent(recorded: RecordedEvent): void {
    const id = recorded.stream.slice("webhookdelivery-".length);
    const event = webhookDeliveryCodec.decode(recorded);
    const history = this.histories.get(id) ?? newHistory(id, event);
    const at = epochMs(String(recorded.metadata.at));
    history.entries.push({ event, at, position: this.eventCount });
    history.state = webhookDeliveryDecider.evolve(history.state, event);
    this.histories.set(id, history);
  }
}

function newHistory(id: string, { data }: WebhookDeliveryEvent): DeliveryHistory {
  const target = "origin" in data ? `${data.origin.eventId} ${data.origin.endpointId}` : "nothing";
  return { id, target, entries: [], state: webhookDeliveryDecider.initialState };
}

const ENDED: ReadonlySet<string | undefined> = new Set(["delivered", "exhausted", "skipped"]);

export function hasEnded({ state }: DeliveryHistory): boolean {
  return ENDED.has(state?.status);
}
