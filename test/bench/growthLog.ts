import { toNewEvents } from "../../src/commands/transact.ts";
import { emailStream } from "../../src/domain/email/events.ts";
import { suppressionStream } from "../../src/domain/suppression/events.ts";
import { templateStream } from "../../src/domain/template/events.ts";
import { webhooksStream } from "../../src/domain/webhook/events.ts";
import { webhookDeliveryStream } from "../../src/domain/webhookDelivery/events.ts";
import { webhookEventType } from "../../src/domain/webhookEventTypes.ts";
import type { WorkspaceCommandContext } from "../../src/kernel/event/commandContext.ts";
import type { DomainEvent } from "../../src/kernel/event/decider.ts";
import { newId, webhookDeliveryId } from "../../src/kernel/ids.ts";
import { rfc3339 } from "../../src/kernel/time.ts";
import type { EventStore, NewEvent } from "../../src/ports/eventStore.ts";
import { type GrowthWorkspace, historyMaker, type MessageHistory } from "./growthHistories.ts";
import { seededRandom } from "./httpLoad.ts";

const TEMPLATES = 5;
/** What the endpoints of a grown log subscribe to. The last one never receives anything. */
const SUBSCRIPTIONS = [["email.bounced"], ["email.failed"], ["webhook.test"]] as const;

interface Endpoint {
  readonly id: string;
  readonly types: readonly string[];
}

async function appendNew(store: EventStore, stream: string, events: readonly NewEvent[]): Promise<number> {
  const result = await store.append(stream, events, "noStream");
  if (result.outcome !== "appended") throw new Error(`${stream} existed already`);
  return events.length;
}

/** Templates and endpoints, before the first message. */
async function setUp(store: EventStore, workspaceId: string) {
  const context = { at: Date.now(), correlationId: newId(), actor: "cli", workspaceId };
  const templateIds = Array.from({ length: TEMPLATES }, () => newId());
  for (const id of templateIds) {
    const data = { workspaceId, name: `template ${id}`, at: rfc3339(context.at) };
    await appendNew(store, templateStream(id), toNewEvents([{ type: "TemplateCreated", data }], context));
  }
  const endpoints = SUBSCRIPTIONS.map((types): Endpoint => ({ id: newId(), types }));
  const registered = endpoints.map(({ id: endpointId, types }): DomainEvent => {
    const url = `https://${endpointId}.example.com/hook`;
    const facts = { endpointId, workspaceId, url, description: null, sealedSecret: "" };
    return { type: "WebhookEndpointRegistered", data: { ...facts, eventTypes: [...types] } };
  });
  await appendNew(store, webhooksStream(workspaceId), toNewEvents(registered, context));
  return { templateIds, endpoints };
}

/** The calls that a story led to, each taken at once. */
async function appendCalls(
  store: EventStore,
  history: MessageHistory,
  endpoints: readonly Endpoint[],
  context: WorkspaceCommandContext,
): Promise<number> {
  let count = 0;
  for (const [eventRevision, event] of history.events.entries()) {
    const eventType = webhookEventType(event.type);
    if (eventType === null) continue;
    for (const { id: endpointId, types } of endpoints) {
      if (!types.includes(eventType)) continue;
      const { workspaceId } = context;
      const origin = {
        workspaceId,
        endpointId,
        eventId: event.id,
        eventStream: emailStream(history.id),
        eventRevision,
        eventType,
      };
      const calls = [
        { type: "WebhookAttemptStarted", data: { origin, attempt: 1, worker: "growth:1", leaseMs: 60_000 } },
        { type: "WebhookDelivered", data: { attempt: 1, durationMs: 40, statusCode: 200 } },
      ];
      const stream = webhookDeliveryStream(webhookDeliveryId(event.id, endpointId));
      count += await appendNew(store, stream, toNewEvents(calls, context));
    }
  }
  return count;
}

async function appendSuppression(
  store: EventStore,
  { id, suppressed }: MessageHistory,
  context: WorkspaceCommandContext,
): Promise<number> {
  if (suppressed === null) return 0;
  const { workspaceId } = context;
  const facts = { workspaceId, recipientHash: suppressed.hash, reason: "bounce", emailId: id, code: 550 };
  const events = [
    { type: "SuppressionAddressStored", data: { address: suppressed.address } },
    { type: "RecipientSuppressed", data: { ...facts, reply: "550 5.1.1 <recipient> unknown" } },
  ];
  return appendNew(store, suppressionStream(suppressed.hash), toNewEvents(events, context));
}

/**
 * Fills a store with messages that were accepted and came to their end: one append a message, `callers` at a time,
 * as fast as the store takes it. Answers the number of events.
 */
export async function growLog(
  store: EventStore,
  callers: number,
  names: Pick<GrowthWorkspace, "workspaceId" | "senderIds">,
  messages: number,
): Promise<number> {
  const { templateIds, endpoints } = await setUp(store, names.workspaceId);
  const historyOf = historyMaker({ ...names, templateIds }, messages, seededRandom(4));
  const { workspaceId } = names;
  const context = { at: Date.now(), correlationId: newId(), actor: "worker:growth:1", workspaceId };
  const appendHistory = async (number: number) => {
    const history = historyOf(number);
    const own = await appendNew(store, emailStream(history.id), history.events);
    const suppressions = await appendSuppression(store, history, context);
    return own + suppressions + (await appendCalls(store, history, endpoints, context));
  };
  let events = TEMPLATES + SUBSCRIPTIONS.length;
  let next = 0;
  const caller = async () => {
    while (next < messages) {
      const appended = await appendHistory(next++);
      events += appended;
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return events;
}
