import { webhookDeliveries } from "../../../projections/webhookDeliveries/webhookDeliveries.ts";
import type { Dependencies } from "../../../src/commands/dependencies.ts";
import { suppressRecipient } from "../../../src/commands/suppression/suppressRecipient.ts";
import { toNewEvents } from "../../../src/commands/transact.ts";
import {
  deleteWebhookEndpoint,
  disableWebhookEndpoint,
  enableWebhookEndpoint,
  updateWebhookEndpoint,
} from "../../../src/commands/webhook/changeWebhookEndpoint.ts";
import { registerWebhookEndpoint } from "../../../src/commands/webhook/registerWebhookEndpoint.ts";
import { testWebhookEndpoint } from "../../../src/commands/webhook/testWebhookEndpoint.ts";
import { readWebhookHistory } from "../../../src/commands/webhookDelivery/readWebhookDelivery.ts";
import { redeliverWebhook } from "../../../src/commands/webhookDelivery/redeliverWebhook.ts";
import { suppressionStream } from "../../../src/domain/suppression/events.ts";
import {
  type DeliveryOrigin,
  type WebhookDeliveryEvent,
  webhookDeliveryStream,
} from "../../../src/domain/webhookDelivery/events.ts";
import { WEBHOOK_POLICY, type WebhookPolicy } from "../../../src/domain/webhookDelivery/retrySchedule.ts";
import { instanceKeys, newDataKey } from "../../../src/kernel/crypto/instanceKeys.ts";
import type { WorkspaceCommandContext } from "../../../src/kernel/event/commandContext.ts";
import { newId } from "../../../src/kernel/ids.ts";
import type { WebhookOutcome } from "../../../src/kernel/outcome/webhookOutcome.ts";
import type { EventStore } from "../../../src/ports/eventStore.ts";
import type { SqlRow } from "../../../src/ports/readDatabase.ts";
import type { WebhookTransport } from "../../../src/ports/webhookTransport.ts";
import type { DisabledEndpoint } from "../../../src/reactors/webhookDelivery/deliverWebhook.ts";
import {
  type EndpointFailureReport,
  EndpointFailureReports,
} from "../../../src/reactors/webhookDelivery/endpointFailureReports.ts";
import { WebhookDeliveryWorker } from "../../../src/reactors/webhookDelivery/webhookDeliveryWorker.ts";
import { rebuildReadModels } from "../../../src/readModels/rebuildReadModels.ts";
import { testDependencies } from "../../support/testDependencies.ts";
import { startTestInstance } from "../../support/testInstance.ts";
import { settleAfter, untilTypes } from "../../support/until.ts";
import { type TestClock, testClock, type WatchedStore, watchedStore } from "../email/deliveryFixtures.ts";

/** A call as an endpoint received it. */
export interface ReceivedCall {
  readonly url: string;
  /** `webhook-id`. */
  readonly id: string;
  readonly type: string;
  readonly worker: string;
  /** The test clock's time. */
  readonly at: number;
}

type Answer = (
  call: ReceivedCall,
  nth: number,
  signal: AbortSignal,
) => WebhookOutcome | Promise<WebhookOutcome>;

/** Endpoints with scripted answers. */
export interface ScriptedEndpoints {
  /** Every call, in order, by all instances. */
  readonly receivedCalls: ReceivedCall[];
  /** Calls in flight now, and the maximum so far, by destination. */
  readonly inFlight: Map<string, number>;
  readonly inFlightMost: Map<string, number>;
  answer: Answer;
  transport(worker: string): WebhookTransport;
}

export function answered(statusCode: number, retryAfterSeconds: number | null = null): WebhookOutcome {
  return { kind: "answered", statusCode, durationMs: 3, body: "", retryAfterSeconds };
}

function scriptedEndpoints(clock: TestClock): ScriptedEndpoints {
  const endpoints: ScriptedEndpoints = {
    receivedCalls: [],
    inFlight: new Map(),
    inFlightMost: new Map(),
    answer: () => answered(200),
    transport: (worker) => ({
      async call({ url, headers, body }, signal) {
        const { type } = JSON.parse(Buffer.from(body).toString()) as { type: string };
        const received: ReceivedCall = {
          url,
          id: headers["webhook-id"] ?? "",
          type,
          worker,
          at: clock.now(),
        };
        const { inFlight, inFlightMost } = endpoints;
        endpoints.receivedCalls.push(received);
        const current = (inFlight.get(url) ?? 0) + 1;
        inFlight.set(url, current);
        inFlightMost.set(url, Math.max(current, inFlightMost.get(url) ?? 0));
        try {
          return await endpoints.answer(received, endpoints.receivedCalls.length, signal);
        } finally {
          inFlight.set(url, (inFlight.get(url) ?? 0) - 1);
        }
      },
    }),
  };
  return endpoints;
}

/** One delivering instance, with its own read model and its own cache of endpoints. */
export interface WebhookInstance {
  readonly deps: Dependencies;
  readonly failures: { readonly error: unknown; readonly id: string }[];
  /** Endpoints that the instance has disabled. */
  readonly disabled: readonly DisabledEndpoint[];
  /** Endpoints that began to fail, or ended to. */
  readonly failingReports: readonly EndpointFailureReport[];
  wake(): void;
  /** Waits until its read model reaches the log's current head. */
  caughtUp(): Promise<void>;
  /** Its read model's rows, by table. */
  rows(): Readonly<Record<string, readonly SqlRow[]>>;
  /** Rebuilds its read model from the log, and switches to it. */
  rebuild(): Promise<void>;
  stop(graceMs?: number): Promise<void>;
}

export interface WebhookInstanceOptions {
  readonly worker?: string;
  readonly endedWorker?: string;
  readonly policy?: Partial<WebhookPolicy>;
  readonly store?: EventStore;
  readonly waitUntilCaughtUp?: (signal: AbortSignal) => Promise<boolean>;
}

type EventChange = Parameters<typeof updateWebhookEndpoint>[2];

/** A log, endpoints with scripted answers, a clock, one workspace, and instances over them. */
export interface WebhookTestWorld {
  readonly store: WatchedStore;
  readonly clock: TestClock;
  readonly endpoints: ScriptedEndpoints;
  readonly deps: Dependencies;
  readonly workspaceId: string;
  freeBytes: number;
  start(options?: WebhookInstanceOptions): Promise<WebhookInstance>;
  /** Registers `https://<name>.example.org/` and answers its id. */
  register(name: string, eventTypes?: readonly string[] | null): Promise<string>;
  update(endpointId: string, change: EventChange): Promise<unknown>;
  disable(endpointId: string): Promise<unknown>;
  enable(endpointId: string): Promise<unknown>;
  delete(endpointId: string): Promise<unknown>;
  /** Why it is disabled; null while it is active. */
  disabledReason(endpointId: string): Promise<string | null>;
  /** Causes an event that endpoints get, `suppression.created`. Returns the event's id. */
  addEvent(): Promise<string>;
  /** A test event for one endpoint. Answers the delivery's id; null when it is refused. */
  test(endpointId: string): Promise<string | null>;
  /** Requests redelivery of an attempted delivery. */
  redeliver(deliveryId: string): Promise<unknown>;
  events(deliveryId: string): Promise<readonly WebhookDeliveryEvent[]>;
  /** Waits until the delivery's events are these, by type and in order. */
  untilEvents(deliveryId: string, ...types: readonly WebhookDeliveryEvent["type"][]): Promise<void>;
  /** Appends to a delivery's stream as another instance would. */
  appendForeign(deliveryId: string, ...events: readonly WebhookDeliveryEvent[]): Promise<void>;
  /** Where a delivery comes from, as another instance would write it. */
  originOf(eventId: string, endpointId: string): DeliveryOrigin;
  /** Moves the clock and wakes all instances. */
  pass(ms: number): void;
  /** Wakes all instances often enough that all work due now is done. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

export function webhookTestWorld(log?: EventStore): WebhookTestWorld {
  const store = watchedStore(log);
  const clock = testClock();
  const endpoints = scriptedEndpoints(clock);
  const keys = instanceKeys(newDataKey());
  const workspaceId = newId();
  const running: WebhookInstance[] = [];
  const streams = new Map<string, string>();
  const depsWith = (ownStore: EventStore): Dependencies =>
    testDependencies({
      store: ownStore,
      clock,
      keys,
      disk: { freeBytes: () => world.freeBytes },
      diskFreeBytesMin: 1_000,
    });
  const deps = depsWith(store);
  const context = (): WorkspaceCommandContext => ({
    at: clock.now(),
    correlationId: "test",
    actor: "test",
    workspaceId,
  });

  const world: WebhookTestWorld = {
    store,
    clock,
    endpoints,
    deps,
    workspaceId,
    freeBytes: 1_000_000,
    async start({
      worker = "w1",
      policy = {},
      store: ownStore = store,
      waitUntilCaughtUp,
      endedWorker = null,
    } = {}) {
      const instance = await startInstance(depsWith(ownStore), endpoints.transport(worker), {
        worker,
        endedWorker,
        policy: { ...WEBHOOK_POLICY, ...policy },
        ...(waitUntilCaughtUp ? { waitUntilCaughtUp } : {}),
      });
      running.push(instance);
      return instance;
    },
    async register(name, eventTypes = null) {
      const url = `https://${name}.example.org/`;
      const endpoint = { url, description: null, eventTypes };
      const result = await registerWebhookEndpoint(deps, endpoint, context());
      if (result.kind !== "registered") throw new Error(`not registered: ${result.kind}`);
      return result.id;
    },
    update: (id, change) => updateWebhookEndpoint(deps, id, change, context()),
    disable: (id) => disableWebhookEndpoint(deps, id, context()),
    enable: (id) => enableWebhookEndpoint(deps, id, context()),
    delete: (id) => deleteWebhookEndpoint(deps, id, context()),
    async disabledReason(id) {
      deps.webhooks.forget(workspaceId);
      return (await deps.webhooks.get(workspaceId)).endpoints.get(id)?.disabledReason ?? null;
    },
    async addEvent() {
      const address = `${newId()}@example.net`;
      const recipientHash = keys.hashAddress(workspaceId, address);
      const bounce = {
        emailId: newId(),
        reason: "bounce" as const,
        bounceReason: "recipient_address_rejected",
        code: 550,
      };
      await suppressRecipient(store, { workspaceId, recipientHash, address, ...bounce }, context());
      const stream = suppressionStream(recipientHash);
      const id = (await store.read(stream, 1, 1))[0]?.id ?? "";
      streams.set(id, stream);
      return id;
    },
    async test(id) {
      const outcome = await testWebhookEndpoint(deps, id, context());
      return outcome.kind === "requested" ? outcome.deliveryId : null;
    },
    async redeliver(id) {
      const [first] = await world.events(id);
      if (first?.type !== "WebhookAttemptStarted") throw new Error("the delivery was never attempted");
      return redeliverWebhook(store, id, { origin: first.data.origin, isMissed: false }, context());
    },
    async events(id) {
      return (await readWebhookHistory(store, id)).map(({ event }) => event);
    },
    untilEvents: (id, ...types) => untilTypes(() => world.events(id), types),
    async appendForeign(id, ...events) {
      const stream = webhookDeliveryStream(id);
      const last = await store.lastRevision(stream);
      const result = await store.append(stream, toNewEvents(events, context()), last ?? "noStream");
      if (result.outcome !== "appended") throw new Error("the append lost a race");
    },
    originOf(eventId, endpointId) {
      const eventStream = streams.get(eventId) ?? "";
      const source = { eventId, eventStream, eventRevision: 1, eventType: "suppression.created" };
      return { workspaceId, endpointId, ...source };
    },
    pass(ms) {
      clock.advance(ms);
      for (const instance of running) instance.wake();
    },
    settle: () => settleAfter(() => world.pass(0)),
    async close() {
      for (const instance of running) await instance.stop(0);
      await store.close();
    },
  };
  return world;
}

interface Settings {
  readonly worker: string;
  readonly endedWorker: string | null;
  readonly policy: WebhookPolicy;
  readonly waitUntilCaughtUp?: (signal: AbortSignal) => Promise<boolean>;
}

async function startInstance(
  deps: Dependencies,
  transport: WebhookTransport,
  { worker, endedWorker, policy, waitUntilCaughtUp }: Settings,
): Promise<WebhookInstance> {
  const failures: WebhookInstance["failures"][number][] = [];
  const disabled: DisabledEndpoint[] = [];
  const failingReports: EndpointFailureReport[] = [];
  const { name, tables } = webhookDeliveries;
  const { store } = deps;
  const instance = await startTestInstance({
    store,
    projections: [webhookDeliveries],
    workersOf: (readers) => [
      new WebhookDeliveryWorker({
        isCaughtUp: () => true,
        deps,
        transport,
        deliveries: readers.reader(name),
        waitUntilCaughtUp:
          waitUntilCaughtUp ?? (async () => readers.waitForPosition(name, await store.head(), 5_000)),
        policy,
        callsPerEndpointMax: 5,
        worker,
        endedWorker,
        userAgent: "Postledger-Webhooks",
        isLogShared: true,
        random: () => 0,
        onTrouble: (error, id) => failures.push({ error, id }),
        endpointFailures: new EndpointFailureReports(deps.clock, (report) => failingReports.push(report)),
        onDisabled: (endpoint) => disabled.push(endpoint),
        onBlockedDestination: () => {},
      }),
    ],
  });
  const { readers, storage, signal } = instance;
  return {
    ...instance,
    deps,
    failures,
    disabled,
    failingReports,
    rows: () => {
      const db = readers.reader(name);
      return Object.fromEntries(
        tables.map((table) => [
          table.name,
          db.all(`SELECT * FROM ${table.name} ORDER BY ${table.key.join()}`),
        ]),
      );
    },
    async rebuild() {
      const [result] = await rebuildReadModels({ ...storage, store, logId: "log", owner: false, signal });
      if (result?.outcome !== "current") throw new Error(`the rebuild ended with ${result?.outcome}`);
      await instance.caughtUp();
    },
  };
}
