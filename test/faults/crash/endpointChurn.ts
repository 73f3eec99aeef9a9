import { WEBHOOK_EVENT_TYPES } from "../../../src/domain/webhookEventTypes.ts";
import type { Answer, TestProcess } from "../../support/service.ts";
import { BEHAVIOURS, type Behaviour, type WebhookReceivers } from "./webhookReceivers.ts";

/** Endpoints that are changed; those that stay as they are come on top. */
const ENDPOINTS_MAX = 12;
/** Subscribed to everything and left alone. */
const STEADY = 2;
const PAUSE_MS_MAX = 60;
/** Events that happen seldom: endpoints that never answer get only these, so some deliveries exhaust their attempts. */
const RARE_TYPES = ["email.bounced", "email.delivery_delayed", "webhook.disabled", "webhook.test"] as const;
const SLOW: ReadonlySet<Behaviour> = new Set(["fails", "hangs", "redirects", "busy", "drips"]);
const HOUR_MS = 3_600_000;

interface KnownEndpoint {
  readonly id: string;
  readonly isSteady: boolean;
}

function oneOf<Item>(items: readonly Item[]): Item {
  return items[Math.floor(Math.random() * items.length)] as Item;
}

function randomSubset<Item>(items: readonly Item[]): readonly Item[] {
  const some = items.filter(() => Math.random() < 0.5);
  return some.length > 0 ? some : [oneOf(items)];
}

/** Null: all. */
function typesFor(behaviour: Behaviour): readonly string[] | null {
  if (SLOW.has(behaviour)) return randomSubset(RARE_TYPES);
  return Math.random() < 0.3 ? null : randomSubset(WEBHOOK_EVENT_TYPES);
}

/** Adds, changes, disables, enables, tests and deletes endpoints without end; what must not be is in `problems`. */
export class EndpointChurn {
  readonly problems: string[] = [];
  /** Changes that the service has confirmed, by their name. */
  readonly done = new Map<string, number>();
  private known: KnownEndpoint[] = [];
  private service: TestProcess | null = null;
  private isRunning = false;
  private running: Promise<void> = Promise.resolve();

  constructor(private readonly receivers: WebhookReceivers) {}

  /** From now on requests go to this service. Its own list of endpoints counts: an answer may have been lost. */
  async setTarget(service: TestProcess): Promise<void> {
    this.service = service;
    const { json } = await service.call("GET", "/webhooks");
    const listed = json.data as readonly { readonly id: string; readonly description: string | null }[];
    this.known = listed.map(({ id, description }) => ({ id, isSteady: description === "steady" }));
  }

  /** The first endpoints: some that stay, and one of each kind. */
  async begin(): Promise<void> {
    for (let index = 0; index < STEADY; index += 1) await this.create("well", { description: "steady" });
    for (const behaviour of BEHAVIOURS) await this.create(behaviour);
  }

  start(): void {
    this.isRunning = true;
    this.running = this.run();
  }

  async stop(): Promise<void> {
    this.isRunning = false;
    await this.running;
  }

  private async run(): Promise<void> {
    while (this.isRunning) {
      await Bun.sleep(Math.random() * PAUSE_MS_MAX);
      try {
        await this.change();
      } catch {
        // The service was killed under this request.
      }
    }
  }

  private async change(): Promise<void> {
    const changing = this.known.filter(({ isSteady }) => !isSteady);
    const endpoint = changing.length > 0 ? oneOf(changing) : null;
    if (endpoint === null || (changing.length < ENDPOINTS_MAX && Math.random() < 0.3)) {
      await this.create(oneOf(BEHAVIOURS));
      return;
    }
    const behaviour = oneOf(BEHAVIOURS);
    const path = `/webhooks/${endpoint.id}`;
    const since = new Date(Date.now() - HOUR_MS).toISOString();
    const changes = [
      () => this.remove(endpoint),
      () => this.ask("disable", "POST", `${path}/disable`),
      () => this.ask("enable", "POST", `${path}/enable`),
      () => this.ask("enable", "POST", `${path}/enable`),
      () => this.ask("move", "PATCH", path, this.destination(behaviour)),
      () => this.ask("subscribe", "PATCH", path, { event_types: typesFor(behaviour) }),
      () => this.ask("rotate", "POST", `${path}/rotate-secret`),
      () => this.ask("test", "POST", `${path}/test`),
      () => this.ask("test", "POST", `${path}/test`),
      () => this.ask("recover", "POST", `${path}/recover`, { since }),
    ];
    await oneOf(changes)();
  }

  private destination(behaviour: Behaviour) {
    return { url: this.receivers.newUrl(behaviour), event_types: typesFor(behaviour) };
  }

  private async create(behaviour: Behaviour, { description }: { readonly description?: string } = {}) {
    const destination = this.destination(behaviour);
    const body = description === undefined ? destination : { ...destination, description, event_types: null };
    const { status, json } = await this.ask("create", "POST", "/webhooks", body);
    if (status === 201) this.known.push({ id: json.id, isSteady: description !== undefined });
  }

  private async remove(endpoint: KnownEndpoint): Promise<void> {
    const { status } = await this.ask("delete", "DELETE", `/webhooks/${endpoint.id}`);
    if (status === 204) this.known = this.known.filter(({ id }) => id !== endpoint.id);
  }

  /** 409 is what a test of a disabled endpoint gets; 503 what a service says that is busy. */
  private async ask(name: string, method: string, path: string, body?: unknown): Promise<Answer> {
    if (this.service === null) throw new Error("no service is running");
    const answer = await this.service.call(method, path, body === undefined ? {} : { body });
    if (answer.status < 300) this.done.set(name, (this.done.get(name) ?? 0) + 1);
    else if (![409, 503].includes(answer.status))
      this.problems.push(`${name} was answered ${answer.status}: ${answer.text.slice(0, 200)}`);
    return answer;
  }
}
