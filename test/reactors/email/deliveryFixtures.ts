import { emails } from "../../../projections/emails/emails.ts";
import { senderAggregate, workspaceAggregate } from "../../../src/commands/aggregateDefinitions.ts";
import type { Dependencies } from "../../../src/commands/dependencies.ts";
import {
  type DeliveryHandoffCache,
  deliveryHandoffCache,
} from "../../../src/commands/email/deliveryHandoffCache.ts";
import { readEmailHistory } from "../../../src/commands/email/emailHistory.ts";
import type { RequestedAttachment } from "../../../src/commands/email/send/resolveAttachments.ts";
import { sendEmail } from "../../../src/commands/email/send/sendEmail.ts";
import { markVerified, newSender } from "../../../src/commands/sender/manageSender.ts";
import { toNewEvents, transact } from "../../../src/commands/transact.ts";
import { newWorkspace } from "../../../src/commands/workspace/manageWorkspace.ts";
import { DELIVERY_POLICY, type DeliveryPolicy } from "../../../src/domain/email/delivery/deliveryPolicy.ts";
import type { EmailEvent } from "../../../src/domain/email/events.ts";
import type { EmailState } from "../../../src/domain/email/state.ts";
import type { SenderEvent } from "../../../src/domain/sender/events.ts";
import { pauseSending, resumeSending } from "../../../src/domain/workspace/decisions.ts";
import { instanceKeys, newDataKey } from "../../../src/kernel/crypto/instanceKeys.ts";
import type { WorkspaceCommandContext } from "../../../src/kernel/event/commandContext.ts";
import { omitUndefined } from "../../../src/kernel/omitUndefined.ts";
import type { MailOutcome } from "../../../src/kernel/outcome/mailOutcome.ts";
import type { EpochMs } from "../../../src/kernel/time.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { ContentFolder, ContentStore } from "../../../src/ports/contentStore.ts";
import { type EventStore, StoreError } from "../../../src/ports/eventStore.ts";
import type {
  MailMessage,
  MailTransport,
  SendDeadlines,
  SessionResult,
} from "../../../src/ports/mail/mailTransport.ts";
import type { BreakerFault } from "../../../src/reactors/circuitBreaker/circuitBreaker.ts";
import type { OutageReport } from "../../../src/reactors/circuitBreaker/outageReports.ts";
import {
  type ContentSide,
  type ContentStoreHealth,
  contentStoreHealth,
} from "../../../src/reactors/content/contentStoreHealth.ts";
import { MailDeliveryWorker } from "../../../src/reactors/email/mailDeliveryWorker.ts";
import { RelayDeferralReports } from "../../../src/reactors/email/relayDeferralReports.ts";
import { RelayOutageReports, type RelayReport } from "../../../src/reactors/email/relayOutageReports.ts";
import { RelayRefusalReports } from "../../../src/reactors/email/relayRefusalReports.ts";
import { addressOf } from "../../support/addressOf.ts";
import { memoryContentStore } from "../../support/stores/memoryContentStore.ts";
import { memoryEventStore } from "../../support/stores/memoryEventStore.ts";
import { testDependencies } from "../../support/testDependencies.ts";
import { startTestInstance, type TestInstance } from "../../support/testInstance.ts";
import { settleAfter, untilTypes } from "../../support/until.ts";

/** A clock that stands still until it is moved. */
export interface TestClock extends Clock {
  advance(ms: number): void;
  /** Sets the time of day back, as a time service may. */
  setBack(ms: number): void;
}

export function testClock(): TestClock {
  let wall = Date.parse("2030-01-01T00:00:00Z");
  let monotonic = 1_000_000;
  return {
    now: () => wall,
    monotonicMs: () => monotonic,
    advance(ms) {
      wall += ms;
      monotonic += ms;
    },
    setBack(ms) {
      wall -= ms;
    },
  };
}

/** What the relay was given. */
export interface Transmission {
  readonly message: MailMessage;
  readonly worker: string;
  readonly deadlines: SendDeadlines;
}

type Answer = (message: MailMessage, nth: number) => MailOutcome | Promise<MailOutcome>;

/** A relay with scripted answers. */
export interface ScriptedRelay {
  /** Everything that was handed over, in order, by all instances. */
  readonly sent: Transmission[];
  /** How often an instance has asked for a session. */
  sessions: number;
  /** Its name among several; without one it is the only relay. */
  name?: string;
  /** The relays that the requests for a session preferred, in order. */
  readonly preferred: (string | null)[];
  answer: Answer;
  /** The refusal of a session request; null grants the session. */
  refuse: () => string | null;
  transport(worker: string, sessionsMax: number): MailTransport;
}

export const ACCEPTED: MailOutcome = { kind: "accepted", reply: "250 2.0.0 queued" };

export function refused(stage: "mail" | "rcpt" | "data" | "final", reply: string): MailOutcome {
  return { kind: "refused", stage, code: Number(reply.slice(0, 3)), reply };
}

export function scriptedRelay(): ScriptedRelay {
  const relay: ScriptedRelay = {
    sent: [],
    sessions: 0,
    preferred: [],
    answer: () => ACCEPTED,
    refuse: () => null,
    transport: (worker, sessionsMax) => ({
      name: "smtp",
      sessionsMax,
      async session(_signal, preferredRelay = null): Promise<SessionResult> {
        relay.sessions += 1;
        relay.preferred.push(preferredRelay);
        const reason = relay.refuse();
        if (reason !== null) return { kind: "broken", trouble: "unreachable", reason };
        return {
          kind: "session",
          session: {
            ...(relay.name === undefined ? {} : { relay: relay.name }),
            async send(message, deadlines) {
              relay.sent.push({ message, worker, deadlines });
              return relay.answer(message, relay.sent.length);
            },
            release() {},
          },
        };
      },
      async close() {},
    }),
  };
  return relay;
}

/** A content store whose reads a test can hold up or fail. */
export interface WatchedContent extends ContentStore {
  /** Called before every read of a message's file or content; what it throws is what the read throws. */
  beforeGet: (folder: ContentFolder) => void | Promise<void>;
  /** Reads that have begun. */
  gets: number;
}

function watchedContent(): WatchedContent {
  const store = memoryContentStore();
  const watched: WatchedContent = {
    ...store,
    beforeGet: () => {},
    gets: 0,
    async get(folder, sha256) {
      watched.gets += 1;
      await watched.beforeGet(folder);
      return store.get(folder, sha256);
    },
  };
  return watched;
}

/** How often each operation of a store was called, and what it must throw. */
export interface WatchedStore extends EventStore {
  readonly calls: { append: number; read: number };
  /** Called before every append, with the stream and the types; what it throws is what the append throws. */
  beforeAppend: (stream: string, types: readonly string[]) => void | Promise<void>;
  /** Called after every append that was written. */
  afterAppend: (stream: string, types: readonly string[]) => void | Promise<void>;
  beforeRead: (stream: string) => void;
}

export function watchedStore(store: EventStore = memoryEventStore()): WatchedStore {
  const watched: WatchedStore = {
    calls: { append: 0, read: 0 },
    beforeAppend: () => {},
    afterAppend: () => {},
    beforeRead: () => {},
    async append(stream, events, expected, options) {
      watched.calls.append += 1;
      const types = events.map(({ type }) => type);
      await watched.beforeAppend(stream, types);
      const result = await store.append(stream, events, expected, options);
      if (result.outcome === "appended") await watched.afterAppend(stream, types);
      return result;
    },
    async read(stream, from, max, options) {
      watched.calls.read += 1;
      watched.beforeRead(stream);
      return store.read(stream, from, max, options);
    },
    flush: (options) => store.flush(options),
    lastRevision: (stream, options) => store.lastRevision(stream, options),
    readAll: (from, filter, options) => store.readAll(from, filter, options),
    subscribe: (from, filter, signal) => store.subscribe(from, filter, signal),
    head: (options) => store.head(options),
    truncateBefore: (stream, revision, options) => store.truncateBefore(stream, revision, options),
    truncations: (options) => store.truncations(options),
    faults: (depth, options) => store.faults(depth, options),
    purge: (options) => store.purge(options),
    close: () => store.close(),
  };
  return watched;
}

/** The first append of an event of this type is written, but reported as outcomeUnknown. */
export function failAfterAppendOnce(store: WatchedStore, type: string): void {
  let isFirst = true;
  store.afterAppend = (_, types) => {
    if (!types.includes(type) || !isFirst) return;
    isFirst = false;
    throw new StoreError("outcomeUnknown", "no answer");
  };
}

/** The first append of an event of this type is still in a transaction when its time is over: a flush waits for it. */
export function writeLateOnce(store: WatchedStore, type: string): void {
  const { append, flush } = store;
  store.append = async (stream, events, ...rest) => {
    if (events[0]?.type !== type) return append(stream, events, ...rest);
    store.append = append;
    store.flush = async (options) => {
      store.flush = flush;
      await append(stream, events, ...rest);
      return flush(options);
    };
    throw new StoreError("outcomeUnknown", "no answer");
  };
}

/** One instance that delivers, with its own read model. */
export interface Instance extends Pick<TestInstance, "storage"> {
  readonly delivery: MailDeliveryWorker;
  readonly deps: Dependencies;
  /** The reports about the relay. */
  readonly reports: readonly RelayReport[];
  /** What it knows about the content store by its deliveries. */
  readonly contentHealth: ContentStoreHealth;
  /** The reports about what the content store gives out. */
  readonly contentReports: readonly OutageReport<BreakerFault>[];
  /** How long after it was due the relay accepted each message. */
  readonly sentAfterMs: readonly number[];
  readonly failures: { readonly error: unknown; readonly id: string }[];
  /** Messages of which it was told that their content is lost. */
  readonly contentLost: string[];
  /** Waits until its read model holds the log as it is now. */
  caughtUp(): Promise<void>;
  stop(graceMs?: number): Promise<void>;
}

export interface InstanceOptions {
  readonly worker?: string;
  readonly endedWorker?: string;
  readonly sessionsMax?: number;
  readonly policy?: Partial<DeliveryPolicy>;
  readonly bounceDomains?: boolean;
  readonly store?: EventStore;
  /** Whether it is the instance that has accepted the messages, and remembers them. Default: true for `w1`. */
  readonly hasAccepted?: boolean;
}

/** A log, a relay, a clock, a workspace with a verified sender, and instances over them. */
export interface DeliveryWorld {
  readonly store: WatchedStore;
  readonly content: WatchedContent;
  readonly clock: TestClock;
  readonly relay: ScriptedRelay;
  readonly deps: Dependencies;
  readonly workspaceId: string;
  freeBytes: number;
  start(options?: InstanceOptions): Promise<Instance>;
  /** Accepts one message and answers its id. */
  accept(
    key: string,
    options?: {
      readonly to?: string;
      readonly from?: string;
      readonly scheduledAt?: EpochMs;
      readonly deliverBefore?: EpochMs;
      /** The text of an attachment. */
      readonly file?: string;
    },
  ): Promise<string>;
  state(id: string): Promise<NonNullable<EmailState>>;
  events(id: string): Promise<readonly EmailEvent[]>;
  /** Waits until the message's events are these, by type and in order, after the two of its acceptance. */
  untilEvents(id: string, ...types: readonly EmailEvent["type"][]): Promise<void>;
  /** Moves the clock and wakes all instances. */
  pass(ms: number): void;
  /** Wakes all instances often enough that all work due now is done. */
  settle(): Promise<void>;
  pause(): Promise<void>;
  unpause(): Promise<void>;
  /** Of shop@example.com, unless another sender's id is given. */
  setSender(type: "SenderDisabled" | "SenderEnabled", id?: string): Promise<void>;
  /** Adds a domain on whose word its addresses may send, and answers its id. */
  addDomain(domain: string): Promise<string>;
  close(): Promise<void>;
}

const SENDER = addressOf("shop@example.com");

function attached(text: string): RequestedAttachment {
  const content = Buffer.from(text).toString("base64");
  return { kind: "direct", filename: "note.txt", contentType: "text/plain", content };
}

export async function deliveryWorld(log?: EventStore): Promise<DeliveryWorld> {
  const store = watchedStore(log);
  const clock = testClock();
  const relay = scriptedRelay();
  const content = watchedContent();
  const keys = instanceKeys(newDataKey());
  const running: Instance[] = [];
  const accepted = deliveryHandoffCache();
  const depsWith = (ownStore: EventStore, recentEmails: DeliveryHandoffCache | null): Dependencies =>
    testDependencies({
      recentEmails,
      store: ownStore,
      content,
      clock,
      keys,
      disk: { freeBytes: () => world.freeBytes },
      diskFreeBytesMin: 1_000,
    });
  const deps = depsWith(store, accepted);
  const context = (): WorkspaceCommandContext => ({
    at: clock.now(),
    correlationId: "test",
    actor: "test",
    workspaceId,
  });
  const forgetAll = (sender = senderId) => {
    for (const known of [deps, ...running.map((instance) => instance.deps)]) {
      known.workspaces.forget(workspaceId);
      known.senders.forget(sender);
    }
  };
  const workspaceId = await newWorkspace(deps, "shop", {
    at: clock.now(),
    correlationId: "t",
    actor: "t",
  });
  const senderId = keys.hashAddress(workspaceId, SENDER.canonical);
  for (const sender of [SENDER, addressOf("news@example.com")]) {
    const name = { kind: "address", address: sender } as const;
    const added = await newSender(deps, { workspaceId, name }, context());
    if (added) await markVerified(deps, added.id, "operator", context());
  }

  const world: DeliveryWorld = {
    store,
    content,
    clock,
    relay,
    deps,
    workspaceId,
    freeBytes: 1_000_000,
    async start({ worker = "w1", hasAccepted = worker === "w1", ...options } = {}) {
      const { sessionsMax = 2, policy = {}, bounceDomains = true, store: ownStore = store } = options;
      const own = depsWith(ownStore, hasAccepted ? accepted : null);
      const instance = await startInstance(own, relay.transport(worker, sessionsMax), {
        worker,
        endedWorker: options.endedWorker ?? null,
        policy: { ...DELIVERY_POLICY, ...policy },
        bounceDomains,
      });
      running.push(instance);
      return instance;
    },
    async accept(key, { to = "ana@example.org", from = SENDER.sent, scheduledAt, deliverBefore, file } = {}) {
      const result = await sendEmail(deps, {
        workspaceId,
        idempotencyKey: key,
        comparable: { key },
        from: addressOf(from),
        to: addressOf(to),
        content: { from, to, subject: "Hello", text: key },
        template: null,
        attachments: file === undefined ? [] : [attached(file)],
        ...omitUndefined({ scheduledAt, deliverBefore }),
        context: context(),
      });
      if (result.kind !== "accepted") throw new Error(`not accepted: ${JSON.stringify(result)}`);
      return result.receipt.id;
    },
    async state(id) {
      const { state } = await readEmailHistory(store, id);
      if (state === null) throw new Error("the message was never accepted");
      return state;
    },
    async events(id) {
      return (await readEmailHistory(store, id)).events.map(({ event }) => event);
    },
    untilEvents: (id, ...types) => untilTypes(async () => (await world.events(id)).slice(2), types),
    pass(ms) {
      clock.advance(ms);
      for (const { delivery } of running) delivery.wake();
    },
    settle: () => settleAfter(() => world.pass(0)),
    async pause() {
      const workspace = workspaceAggregate.of(workspaceId);
      await transact(store, workspace, (state) => pauseSending(state, clock.now()), context());
      forgetAll();
    },
    async unpause() {
      const workspace = workspaceAggregate.of(workspaceId);
      await transact(store, workspace, (state) => resumeSending(state, clock.now()), context());
      forgetAll();
    },
    async setSender(type, id = senderId) {
      const event: SenderEvent = { type, data: {} };
      const sender = senderAggregate.of(id);
      await transact(store, sender, () => ({ outcome: null, events: [event] }), context());
      forgetAll(id);
    },
    async addDomain(domain) {
      const added = await newSender(deps, { workspaceId, name: { kind: "domain", domain } }, context());
      if (added === null) throw new Error("no such workspace");
      await markVerified(deps, added.id, "operator", context());
      return added.id;
    },
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
  readonly policy: DeliveryPolicy;
  readonly bounceDomains: boolean;
}

async function startInstance(
  deps: Dependencies,
  transport: MailTransport,
  { worker, endedWorker, policy, bounceDomains }: Settings,
): Promise<Instance> {
  const failures: Instance["failures"][number][] = [];
  const contentLost: string[] = [];
  const reports: RelayReport[] = [];
  const contentReports: OutageReport<BreakerFault>[] = [];
  const sentAfterMs: number[] = [];
  const deliveries: MailDeliveryWorker[] = [];
  const contentHealth = contentStoreHealth({
    content: deps.content,
    clock: deps.clock,
    tell: (side: ContentSide, report) => void (side === "reads" && contentReports.push(report)),
    onTrouble: (error) => failures.push({ error, id: "" }),
  });
  const instance = await startTestInstance({
    store: deps.store,
    projections: [emails],
    workersOf(readers) {
      const delivery = new MailDeliveryWorker({
        relayOutageReports: new RelayOutageReports(deps.clock, (report) => reports.push(report)),
        deferralReports: new RelayDeferralReports(deps.clock, (report) => reports.push(report)),
        contentBreaker: contentHealth.reads,
        refusalReports: new RelayRefusalReports(deps.clock, () => {}),
        onSent: (afterMs) => sentAfterMs.push(afterMs),
        isCaughtUp: () => true,
        deps,
        transport,
        emails: readers.reader("emails"),
        policy,
        bounceDomains,
        readSpacingMs: 0,
        worker,
        endedWorker,
        isLogShared: true,
        random: () => 0,
        onTrouble: (error, id) => failures.push({ error, id }),
        onContentLost: (id) => contentLost.push(id),
      });
      deliveries.push(delivery);
      return [delivery, ...contentHealth.probes];
    },
  });
  const [delivery] = deliveries;
  if (delivery === undefined) throw new Error("the instance has no delivery");
  const reported = { failures, contentLost, reports, contentReports, sentAfterMs };
  return { ...instance, ...reported, delivery, deps, contentHealth };
}

/** Appends an event to a message's stream as if another instance had. */
export async function appendForeign(world: DeliveryWorld, id: string, event: EmailEvent): Promise<void> {
  const stream = `email-${id}`;
  const last = await world.store.lastRevision(stream);
  const context = { at: world.clock.now(), correlationId: "foreign", actor: "worker:other" };
  const result = await world.store.append(stream, toNewEvents([event], context), last ?? "noStream");
  if (result.outcome !== "appended") throw new Error("the append lost a race");
}
