import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  emailAggregate,
  senderAggregate,
  webhookAggregate,
  workspaceAggregate,
} from "../../src/commands/aggregateDefinitions.ts";
import { issueKey } from "../../src/commands/apiKey/issueApiKey.ts";
import { createDependencies } from "../../src/commands/createDependencies.ts";
import type { Dependencies } from "../../src/commands/dependencies.ts";
import { markVerified, newSender } from "../../src/commands/sender/manageSender.ts";
import { senderIdOf } from "../../src/commands/sender/senderId.ts";
import { suppressRecipient } from "../../src/commands/suppression/suppressRecipient.ts";
import { load, transact } from "../../src/commands/transact.ts";
import { newWorkspace } from "../../src/commands/workspace/manageWorkspace.ts";
import { SCOPES, type Scope } from "../../src/domain/apiKey/scopes.ts";
import type { EmailEvent } from "../../src/domain/email/events.ts";
import { type SenderEvent, senderStream } from "../../src/domain/sender/events.ts";
import { pauseSending, resumeSending } from "../../src/domain/workspace/decisions.ts";
import { newId } from "../../src/kernel/ids.ts";
import { dependenciesFromConfig } from "../../src/service/adapters/dependenciesFromConfig.ts";
import { openContentStore } from "../../src/service/adapters/openContentStore.ts";
import { openStore } from "../../src/service/adapters/openStore.ts";
import { readConfig } from "../../src/service/config/config.ts";
import { openInstanceFromConfig } from "../../src/service/openInstanceFromConfig.ts";
import { systemCommandContext } from "../../src/service/systemCommandContext.ts";
import { addressOf } from "./addressOf.ts";
import { type Caller, callerOf, startTestApp, type TestApp } from "./service.ts";
import type { TestStore } from "./stores/stores.ts";

export const SENDER = "sender@example.com";

/** A test's own workspace, and a client with one of its keys. */
export interface Tenant extends Caller {
  readonly workspaceId: string;
  readonly keyId: string;
  readonly apiKey: string;
  /** A client with another key of the same workspace. */
  withKey(options: KeyOptions): Promise<Tenant>;
}

interface KeyOptions {
  readonly scopes?: readonly Scope[];
  readonly expiresAt?: number | null;
  readonly isTest?: boolean;
}

/** A service on one of the stores, and a second connection to its log, as another process would have. */
export interface TestService {
  readonly app: TestApp;
  readonly url: string;
  /** The log, opened apart from the service, which sees what is written here once it reads it. */
  readonly log: Dependencies;
  /** A new workspace with one key and, unless `sender` is null, one verified sending address. */
  tenant(options?: KeyOptions & { readonly sender?: string | null }): Promise<Tenant>;
  pause(workspaceId: string): Promise<void>;
  resume(workspaceId: string): Promise<void>;
  addSenderEvent(workspaceId: string, address: string, event: SenderEvent): Promise<void>;
  /** Appends events to a message's stream, as a worker or the operator would. */
  addEmailEvents(id: string, ...events: readonly EmailEvent[]): Promise<void>;
  /** Suppresses a recipient, as a bounce would. */
  suppress(workspaceId: string, address: string): Promise<void>;
  /** Registers webhook endpoints in one append. */
  addEndpoints(workspaceId: string, urls: readonly string[]): Promise<void>;
  /** Stops the service and starts it again on the same data. */
  restart(): Promise<void>;
  /** Has no later service on a shared log deliver the mail of the tenants made so far. */
  leaveTenants(): Promise<void>;
  /** Leaves its tenants, stops it and removes its data. */
  remove(): Promise<void>;
}

type Environment = Readonly<Record<string, string>>;

/** Opens the log that `env` names next to a running service, as a command does, and keeps it open. */
export async function openLog(env: Environment): Promise<Dependencies> {
  const config = readConfig(env);
  const store = await openStore(config);
  const content = openContentStore(config);
  const { keys } = await openInstanceFromConfig(config, store, content, {});
  return createDependencies({
    ...dependenciesFromConfig(config),
    store,
    content,
    keys,
    suppressions: { isSuppressed: () => false, holds: async () => false },
    diskFreeBytesMin: 0,
    recentEmails: null,
  });
}

/** Starts a service on `store`. It delivers no mail unless `env` says DELIVERY=on. */
export async function startService(store: TestStore, env: Environment = {}): Promise<TestService> {
  const dataDir = await mkdtemp(join(tmpdir(), "postledger-test-"));
  const settings = { ...store.env, BOOTSTRAP: "off", DELIVERY: "off", ...env };
  let app = await startTestApp({ dataDir, env: settings });
  const log = await openLog({ ...settings, DATA_DIR: dataDir });

  const workspaceIds: string[] = [];
  const tenantWith = async (workspaceId: string, options: KeyOptions): Promise<Tenant> => {
    const { scopes = SCOPES, expiresAt = null, isTest = false } = options;
    const issued = await issueKey(
      log,
      { workspaceId, name: "test", scopes, expiresAt, isTest },
      systemCommandContext("test"),
    );
    if (!issued?.key) throw new Error(`no such workspace: ${workspaceId}`);
    const { id: keyId, key: apiKey } = issued;
    // The service may have restarted with another address since.
    const caller = () => callerOf(app.url, apiKey);
    return {
      workspaceId,
      keyId,
      apiKey,
      call: (...request) => caller().call(...request),
      send: (...request) => caller().send(...request),
      withKey: (other) => tenantWith(workspaceId, other),
    };
  };
  const changeWorkspace = async (id: string, change: typeof pauseSending | typeof resumeSending) => {
    const aggregate = workspaceAggregate.of(id);
    const context = { ...systemCommandContext("test"), workspaceId: id };
    await transact(log.store, aggregate, (state) => change(state, context.at), context);
  };
  const leaveTenants = async () => {
    const left = workspaceIds.splice(0);
    if (store.isShared) for (const id of left) await changeWorkspace(id, pauseSending);
  };

  return {
    get app() {
      return app;
    },
    get url() {
      return app.url;
    },
    log,
    async tenant({ sender = SENDER, ...key } = {}) {
      const workspaceId = await newWorkspace(log, "test", systemCommandContext("test"));
      workspaceIds.push(workspaceId);
      if (sender !== null) {
        const name = { kind: "address", address: addressOf(sender) } as const;
        await newSender(log, { workspaceId, name }, systemCommandContext("test"));
        const id = senderIdOf(log.keys, workspaceId, name);
        await markVerified(log, id, "operator", { ...systemCommandContext("test"), workspaceId });
      }
      return tenantWith(workspaceId, key);
    },
    pause: (id) => changeWorkspace(id, pauseSending),
    resume: (id) => changeWorkspace(id, resumeSending),
    async addSenderEvent(workspaceId, address, event) {
      const stream = senderStream(log.keys.hashAddress(workspaceId, addressOf(address).canonical));
      const context = { ...systemCommandContext("test"), workspaceId };
      await transact(
        log.store,
        { ...senderAggregate, stream },
        () => ({ outcome: null, events: [event] }),
        context,
      );
    },
    async addEmailEvents(id, ...events) {
      const aggregate = emailAggregate.of(id);
      const { state } = await load(log.store, aggregate);
      // An erasure is requested by the operator; all other events are a worker's.
      const isErasure = events.some(({ type }) => type === "EmailContentErased");
      const actor = isErasure ? "cli" : "worker:test";
      const context = { ...systemCommandContext(actor), workspaceId: state?.workspaceId ?? "" };
      await transact(log.store, aggregate, () => ({ outcome: null, events }), context);
    },
    async suppress(workspaceId, address) {
      const recipientHash = log.keys.hashAddress(workspaceId, addressOf(address).canonical);
      const bounce = {
        emailId: newId(),
        reason: "bounce" as const,
        bounceReason: "recipient_address_rejected",
        code: 550,
      };
      const context = { ...systemCommandContext("test"), workspaceId };
      await suppressRecipient(log.store, { workspaceId, recipientHash, address, ...bounce }, context);
    },
    async addEndpoints(workspaceId, urls) {
      const aggregate = webhookAggregate.of(workspaceId);
      const events = urls.map((url) => {
        const endpoint = { endpointId: newId(), description: null, eventTypes: null, sealedSecret: "none" };
        return { type: "WebhookEndpointRegistered" as const, data: { ...endpoint, workspaceId, url } };
      });
      await transact(log.store, aggregate, () => ({ outcome: null, events }), systemCommandContext("test"));
    },
    async restart() {
      await app.remove();
      app = await startTestApp({ dataDir, env: settings });
    },
    leaveTenants,
    async remove() {
      await app.remove();
      await leaveTenants();
      await log.store.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** A valid message; `parts` replaces some of it. */
export function message(parts: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { from: SENDER, to: "ana@example.com", subject: "Hello", text: "It works.", ...parts };
}

let keys = 0;

/** A unique Idempotency-Key. */
export function newKey(): string {
  keys += 1;
  return `key-${process.pid}-${keys}`;
}

/** The header with a new key, which every operation but a batch takes. */
export function keyHeaderFor(path: string): Readonly<Record<string, string>> {
  return path.endsWith("/emails/batch") ? {} : { "idempotency-key": newKey() };
}
