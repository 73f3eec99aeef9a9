import { webhookDeliveryAggregate } from "../../../src/commands/aggregateDefinitions.ts";
import { transact } from "../../../src/commands/transact.ts";
import { redeliverWebhook } from "../../../src/commands/webhookDelivery/redeliverWebhook.ts";
import { type EmailEvent, emailStream } from "../../../src/domain/email/events.ts";
import { storageStream } from "../../../src/domain/storage/events.ts";
import {
  type WebhookDeliveryEvent,
  webhookDeliveryStream,
} from "../../../src/domain/webhookDelivery/events.ts";
import { newId, webhookDeliveryId } from "../../../src/kernel/ids.ts";
import { rfc3339 } from "../../../src/kernel/time.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { direct, formOf, pdf, txt } from "../../support/files/uploadFiles.ts";
import { message, newKey, type Tenant, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const IN_AN_HOUR = rfc3339(Date.now() + 3_600_000);
/** Beyond these the storage stream gets a new count and is truncated. */
const RESERVATIONS = 1_600;

const claim: EmailEvent = {
  type: "EmailDeliveryStarted",
  data: { attempt: 1, worker: "w", leaseMs: 60_000, transport: "smtp" },
};
const deferred: EmailEvent = {
  type: "EmailDeferred",
  data: {
    attempt: 1,
    reason: "recipient_deferred",
    attemptBurnt: true,
    ambiguous: true,
    nextAttemptAt: IN_AN_HOUR,
  },
};

/** A message's delivery events, as a worker writes them. */
const ENDS: Readonly<Record<string, readonly EmailEvent[]>> = {
  queued: [],
  sending: [claim],
  deferred: [claim, deferred],
  sent: [claim, { type: "EmailSent", data: { attempt: 1, transport: "smtp", reply: "250 ok" } }],
  bounced: [
    claim,
    { type: "EmailBounced", data: { attempt: 1, reason: "recipient_address_rejected", code: 550 } },
  ],
  failed: [claim, { type: "EmailFailed", data: { attempt: 1, reason: "relay_refused" } }],
  canceled: [{ type: "EmailCanceled", data: {} }],
};

async function sent(tenant: Tenant, parts: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const answer = await tenant.send(newKey(), message(parts));
  if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`);
  return answer.json.id;
}

/** Messages that a test looks at. */
export interface FullHistory {
  readonly workspaceId: string;
  /** Their content is erased. */
  readonly erased: readonly string[];
  /** Its content is too large for the log, and it has files. */
  readonly large: string;
  /** Its text is LATER_ERASED, and nothing is erased of it yet. */
  readonly later: string;
}

export const LATER_ERASED = "Erased when the log is on the server.";

async function mail(service: TestService, tenant: Tenant): Promise<readonly string[]> {
  const erased: string[] = [];
  for (const [name, events] of Object.entries(ENDS)) {
    await service.addEmailEvents(await sent(tenant, { to: `${name}@example.com` }), ...events);
    const id = await sent(tenant, { to: `${name}-erased@example.com`, to_name: "Ana", tags: ["receipt"] });
    if (name === "sending") continue;
    await service.addEmailEvents(id, ...events);
    const answer = await tenant.call("DELETE", `/api/v1/emails/${id}/content`);
    if (answer.status >= 300) throw new Error(`${answer.status} ${answer.text}`);
    erased.push(id);
  }
  // Compressed in the log.
  await sent(tenant, {
    text: "Ä long text. ".repeat(1_000),
    tags: ["long", "receipt"],
    metadata: { order: "4711" },
  });
  return erased;
}

async function files(tenant: Tenant): Promise<string> {
  const uploaded: string[] = [];
  for (const file of [pdf(), txt(100), { ...pdf(), bytes: Buffer.from("no PDF") }]) {
    const { json } = await tenant.call("POST", "/api/v1/attachments", formOf(file));
    uploaded.push(json.id);
  }
  const status = async (id: string) => (await tenant.call("GET", `/api/v1/attachments/${id}`)).json.status;
  await until(
    async () => !(await Promise.all(uploaded.map(status))).includes("pending"),
    "the uploads to be checked",
    90_000,
  );
  const attachments = [uploaded[0], direct(pdf("direct.pdf"))];
  // Incompressible, so it is too large for the log.
  const html = Buffer.from(crypto.getRandomValues(new Uint8Array(60_000)))
    .toString("hex")
    .repeat(4);
  const text = Buffer.from(crypto.getRandomValues(new Uint8Array(60_000))).toString("base64");
  const large = await sent(tenant, { attachments, html, text: text.repeat(2) });
  await tenant.call("DELETE", `/api/v1/attachments/${uploaded[1]}`);
  return large;
}

async function storage({ log }: TestService, tenant: Tenant): Promise<void> {
  const { workspaceId } = tenant;
  const holders = Array.from({ length: RESERVATIONS }, () => `attachment-${newId()}`);
  await Promise.all(
    holders.map((holder) => log.storage.reserve(workspaceId, holder, 10, systemCommandContext("test"))),
  );
  const released = holders.slice(0, 5);
  for (const holder of released) await log.storage.release(workspaceId, holder, systemCommandContext("test"));
  const firstRevision = async () =>
    (await log.store.read(storageStream(workspaceId), 0, 1))[0]?.revision ?? 0;
  await until(async () => (await firstRevision()) > 0, "the storage stream to be truncated");
}

async function suppressions(tenant: Tenant): Promise<void> {
  const path = "/api/v1/suppressions";
  for (const address of ["gone@example.com", "twice@example.com"]) {
    await tenant.call("POST", path, { body: { address, note: "by hand" } });
  }
  await tenant.call("DELETE", `${path}/twice@example.com`);
  await tenant.call("POST", path, { body: { address: "twice@example.com" } });
  await tenant.call("POST", path, { body: { address: "back@example.com" } });
  await tenant.call("DELETE", `${path}/back@example.com`);
  await sent(tenant, { to: "gone@example.com" });
}

async function templates(tenant: Tenant): Promise<void> {
  const { json: template } = await tenant.call("POST", "/api/v1/templates", { body: { name: "welcome" } });
  const version = {
    subject: "Hello {{ name }}",
    text: "Hello {{ name }}",
    variables: [{ name: "name", type: "string" }],
  };
  const path = `/api/v1/templates/${template.id}`;
  const drafted = await tenant.call("POST", `${path}/versions`, { body: version });
  await tenant.call("POST", `${path}/versions/${drafted.json.id}/publish`);
  await tenant.call("POST", `${path}/versions`, {
    body: { ...version, text: "Later {{ name }}".repeat(600) },
  });
  const { json: other } = await tenant.call("POST", "/api/v1/templates", { body: { name: "old" } });
  await tenant.call("POST", `/api/v1/templates/${other.id}/archive`);
}

/** Histories of webhook deliveries: one delivered, one waiting, one exhausted and requested again. */
async function deliveries({ log }: TestService, tenant: Tenant, endpointId: string): Promise<void> {
  const { workspaceId } = tenant;
  const histories: readonly (readonly WebhookDeliveryEvent[])[] = [
    [{ type: "WebhookDelivered", data: { attempt: 1, durationMs: 5, statusCode: 200 } }],
    [failedAttempt({ nextAttemptAt: IN_AN_HOUR })],
    [failedAttempt({}), { type: "WebhookDeliveryExhausted", data: { reason: "timeout" } }],
    [],
  ];
  for (const story of histories) {
    const id = await sent(tenant, { to: "told@example.com" });
    const eventStream = emailStream(id);
    const [queued] = await log.store.read(eventStream, 1, 1);
    const eventId = queued?.id ?? "";
    const origin = {
      workspaceId,
      endpointId,
      eventId,
      eventStream,
      eventRevision: 1,
      eventType: "email.queued",
    };
    const deliveryId = webhookDeliveryId(eventId, endpointId);
    const stream = webhookDeliveryStream(deliveryId);
    const started: WebhookDeliveryEvent = {
      type: "WebhookAttemptStarted",
      data: { origin, attempt: 1, worker: "w", leaseMs: 60_000 },
    };
    const context = { ...systemCommandContext("test"), workspaceId };
    const events = [started, ...story];
    await transact(
      log.store,
      { ...webhookDeliveryAggregate, stream },
      () => ({ outcome: null, events }),
      context,
    );
    if (story.length === 2)
      await redeliverWebhook(log.store, deliveryId, { origin, isMissed: false }, context);
  }
}

function failedAttempt(options: { readonly nextAttemptAt?: string }): WebhookDeliveryEvent {
  const data = { attempt: 1, durationMs: 5, reason: "timeout", attemptBurnt: true, ...options };
  return { type: "WebhookAttemptFailed", data };
}

async function webhooks(service: TestService, tenant: Tenant): Promise<void> {
  const created: string[] = [];
  for (const name of ["one", "two", "three"]) {
    const body = {
      url: `https://${name}.example.com/hook`,
      ...(name === "two" ? { event_types: ["email.sent"] } : {}),
    };
    const { json } = await tenant.call("POST", "/webhooks", { body });
    created.push(json.id);
  }
  const [one = "", two, three] = created;
  await deliveries(service, tenant, one);
  await tenant.call("POST", `/webhooks/${one}/test`);
  await tenant.call("POST", `/webhooks/${one}/rotate-secret`);
  await tenant.call("PATCH", `/webhooks/${two}`, { body: { description: "second" } });
  await tenant.call("POST", `/webhooks/${two}/disable`);
  await tenant.call("DELETE", `/webhooks/${three}`);
}

/** A recipient of mail who was suppressed twice and then erased. */
async function erasePerson(tenant: Tenant): Promise<void> {
  const address = "forgotten@example.com";
  await sent(tenant, { to: address });
  const path = "/api/v1/suppressions";
  await tenant.call("POST", path, { body: { address } });
  await tenant.call("DELETE", `${path}/${encodeURIComponent(address)}`);
  await tenant.call("POST", path, { body: { address } });
  const { json } = await tenant.call("POST", "/api/v1/erasures", { body: { address } });
  const status = async () => (await tenant.call("GET", `/api/v1/erasures/${json.id}`)).json.status;
  await until(async () => (await status()) === "completed", "a person to be erased", 60_000);
}

/**
 * Makes a log that has some of everything. The service needs a VERIFICATION_FROM, and must deliver nothing.
 */
export async function makeFullHistory(service: TestService): Promise<FullHistory> {
  const tenant = await service.tenant();
  await erasePerson(tenant);
  await webhooks(service, tenant);
  const erased = await mail(service, tenant);
  await suppressions(tenant);
  await templates(tenant);
  const large = await files(tenant);
  await storage(service, tenant);
  const { json: sender } = await tenant.call("POST", "/api/v1/senders", {
    body: { address: "new@example.com" },
  });
  await tenant.call("POST", `/api/v1/senders/${sender.id}/verification`, { body: { method: "email" } });
  const other = await tenant.withKey({ scopes: ["email:send"] });
  await tenant.call("POST", `/api/v1/api-keys/${other.keyId}/revoke`);
  await service.pause(tenant.workspaceId);
  await service.resume(tenant.workspaceId);
  const later = await sent(tenant, { text: LATER_ERASED });
  return { workspaceId: tenant.workspaceId, erased, large, later };
}
