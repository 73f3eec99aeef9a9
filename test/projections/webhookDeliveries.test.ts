import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { webhookDeliveries } from "../../projections/webhookDeliveries/webhookDeliveries.ts";
import {
  deleteEndpoint,
  disableEndpoint,
  enableEndpoint,
  registerEndpoint,
  requestTest,
  updateEndpoint,
} from "../../src/domain/webhook/decisions.ts";
import { type WebhookEvent, webhooksStream } from "../../src/domain/webhook/events.ts";
import { type WebhooksState, webhookDecider } from "../../src/domain/webhook/state.ts";
import { WEBHOOK_EVENT_TYPES } from "../../src/domain/webhookEventTypes.ts";
import type { DomainEvent } from "../../src/kernel/event/decider.ts";
import { webhookDeliveryId } from "../../src/kernel/ids.ts";
import { DAY_MS, rfc3339 } from "../../src/kernel/time.ts";
import type { ProjectedEvent } from "../../src/ports/readDatabase.ts";
import { emptyReadModel } from "../support/emptyReadModel.ts";

const RUNS = { numRuns: 200 };
const START = Date.parse("2030-01-01T00:00:00Z");
const WORKSPACES = ["shop", "bank"] as const;
const ENDPOINTS = 4;

/** A message's event, and the webhook event that its subscribers get; null for none. */
const EVENTS = [
  ["EmailQueued", {}, "email.queued"],
  ["EmailScheduled", { scheduledAt: rfc3339(START) }, "email.scheduled"],
  ["EmailSent", {}, "email.sent"],
  ["EmailDelivered", {}, "email.delivered"],
  ["EmailBounced", {}, "email.bounced"],
  ["EmailComplained", {}, "email.complained"],
  ["EmailFailed", {}, "email.failed"],
  ["EmailSuppressed", {}, "email.suppressed"],
  ["EmailCanceled", {}, "email.canceled"],
  ["EmailDeferred", { reason: "recipient_deferred" }, "email.delivery_delayed"],
  ["EmailDeferred", { reason: "sending_paused" }, null],
  ["EmailDeferred", { reason: "resumed" }, null],
  ["RecipientSuppressed", {}, "suppression.created"],
  ["RecipientUnsuppressed", {}, "suppression.deleted"],
] as const;
const TYPES = EVENTS.flatMap(([, , type]) => type ?? []);

test("these tests cover every webhook event type except those that endpoints cause themselves", () => {
  const others = WEBHOOK_EVENT_TYPES.filter((type) => !type.startsWith("webhook."));
  expect(TYPES.toSorted() as string[]).toEqual(others.toSorted());
});

/** The data that the codec asks of an event, whatever its type. */
const DATA = {
  ...{ workspaceId: "shop", senderId: "s", recipientHash: "h", fingerprint: "f", acceptedAt: rfc3339(START) },
  ...{
    contentEventId: "c",
    contentDigest: "d",
    contentBytes: 1,
    reason: "none",
    attempt: 1,
    transport: "smtp",
  },
  ...{ reply: "250 ok", attemptBurnt: true, ambiguous: false, nextAttemptAt: rfc3339(START) },
};

/** A log of two workspaces, and the deliveries owed for it, by the rule and not by the read model. */
class LogModel {
  readonly events: ProjectedEvent[] = [];
  readonly expected: string[] = [];
  readonly missed: string[] = [];
  private readonly states = new Map<string, WebhooksState>();
  private readonly revisions = new Map<string, number>();

  endpoints(workspace: string): WebhooksState {
    return this.states.get(workspace) ?? webhookDecider.initialState;
  }

  change(workspace: string, events: readonly WebhookEvent[]): void {
    for (const event of events) {
      const id = this.append(webhooksStream(workspace), workspace, event);
      this.states.set(workspace, webhookDecider.evolve(this.endpoints(workspace), event));
      if (event.type === "WebhookEndpointDisabled") {
        this.expectDelivery(workspace, id, "webhook.disabled", event.data.endpointId);
      }
      if (event.type === "WebhookTestRequested") this.expected.push(`${id} ${event.data.endpointId}`);
    }
  }

  addEvent(workspace: string, [type, data, webhookType]: (typeof EVENTS)[number]): void {
    const stream = `${type.startsWith("Email") ? "email" : "suppression"}-${this.events.length}`;
    const id = this.append(stream, workspace, { type, data: { ...DATA, ...data } });
    if (webhookType) this.expectDelivery(workspace, id, webhookType);
  }

  private expectDelivery(workspace: string, eventId: string, type: string, itself?: string): void {
    for (const { id, eventTypes, disabledReason } of this.endpoints(workspace).endpoints.values()) {
      if (id === itself || !(eventTypes?.includes(type) ?? true)) continue;
      (disabledReason === null ? this.expected : this.missed).push(`${eventId} ${id}`);
    }
  }

  private append(stream: string, workspaceId: string, { type, data }: DomainEvent): string {
    const revision = (this.revisions.get(stream) ?? -1) + 1;
    this.revisions.set(stream, revision);
    const id = crypto.randomUUID();
    const metadata = { at: rfc3339(START + this.events.length), workspaceId };
    this.events.push({ stream, revision, id, type, data, metadata });
    return id;
  }
}

const eventTypes = fc.option(fc.subarray([...TYPES, "webhook.disabled", "webhook.test"], { minLength: 1 }));
const step = fc.tuple(
  fc.constantFrom(...WORKSPACES),
  fc.nat(ENDPOINTS - 1),
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ verb: fc.constant("addEvent"), event: fc.constantFrom(...EVENTS) }) },
    { weight: 3, arbitrary: fc.record({ verb: fc.constantFrom("register", "update"), eventTypes }) },
    { weight: 4, arbitrary: fc.record({ verb: fc.constantFrom("disable", "enable", "delete", "test") }) },
  ),
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

function applyStep(model: LogModel, [workspace, index, what]: Step): void {
  if ("event" in what) {
    model.addEvent(workspace, what.event);
    return;
  }
  const state = model.endpoints(workspace);
  const url = `https://${index}.example.org/`;
  const known = [...state.endpoints.values()].find((endpoint) => endpoint.url === url)?.id;
  const endpointId = known ?? crypto.randomUUID();
  const types = "eventTypes" in what ? what.eventTypes : null;
  const endpoint = { endpointId, workspaceId: workspace, url, description: null, eventTypes: types };
  const decisions = {
    register: () => registerEndpoint(state, { ...endpoint, sealedSecret: "none" }),
    update: () => updateEndpoint(state, { endpointId, eventTypes: types }),
    disable: () => disableEndpoint(state, endpointId, "manual"),
    enable: () => enableEndpoint(state, endpointId),
    delete: () => deleteEndpoint(state, endpointId),
    test: () => requestTest(state, endpointId),
  } as const;
  model.change(workspace, decisions[what.verb as keyof typeof decisions]().events);
}

function deliveriesOf(events: readonly ProjectedEvent[]) {
  const db = emptyReadModel(webhookDeliveries);
  for (const event of events) {
    if (webhookDeliveries.events.includes(event.type)) webhookDeliveries.apply(event, db);
  }
  const rows = db.all("SELECT * FROM deliveries").map((row) => ({ ...row }));
  db.close();
  return rows;
}

describe("the read model of webhook deliveries (properties)", () => {
  test("has one delivery for each event and each endpoint subscribed at that time, and no other", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), (steps) => {
        const model = new LogModel();
        for (const one of steps) applyStep(model, one);
        const rows = deliveriesOf(model.events);
        const named = (state: string) =>
          rows.filter((row) => row.state === state).map((row) => `${row.event_id} ${row.endpoint_id}`);
        expect(named("ready").sort()).toEqual(model.expected.toSorted());
        expect(named("done").sort()).toEqual(model.missed.toSorted());
        for (const row of rows) {
          expect(row.id).toBe(webhookDeliveryId(String(row.event_id), String(row.endpoint_id)));
          const event = model.events.find(({ id }) => id === row.event_id);
          expect([row.event_stream, row.event_revision]).toEqual([event?.stream, event?.revision] as never);
          expect(row.status).toBe(row.state === "ready" ? "pending" : "skipped");
        }
      }),
      RUNS,
    );
  });

  test("forgets what an endpoint missed 14 days later, with the next that it misses", () => {
    const model = new LogModel();
    applyStep(model, ["shop", 0, { verb: "register", eventTypes: null }]);
    applyStep(model, ["shop", 0, { verb: "disable" }]);
    const expireAfter = (days: number) => {
      model.addEvent("shop", EVENTS[0]);
      const event = model.events.at(-1) as ProjectedEvent;
      const metadata = { ...event.metadata, at: rfc3339(START + days * DAY_MS) };
      model.events.splice(-1, 1, { ...event, metadata });
      return event.id;
    };
    const [first, second, third, last] = [0, 1, 14, 15.5].map(expireAfter);
    const idsAfter = (count: number) =>
      deliveriesOf(model.events.slice(0, 2 + count)).map((row) => String(row.event_id));
    expect(idsAfter(3)).toEqual([first, second, third] as string[]);
    expect(idsAfter(4)).toEqual([third, last] as string[]);
  });
});
