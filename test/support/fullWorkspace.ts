import { webhookDeliveryStream } from "../../src/domain/webhookDelivery/events.ts";
import { metadataOf } from "../../src/kernel/event/eventMetadata.ts";
import { rfc3339 } from "../../src/kernel/time.ts";
import { systemCommandContext } from "../../src/service/systemCommandContext.ts";
import { message, newKey, type Tenant, type TestService } from "./tenants.ts";
import { until } from "./until.ts";

const FILE = { filename: "note.txt", content_type: "text/plain", content: btoa("A note.") };
const HOUR_MS = 3_600_000;

/** The setting that {@link fillWorkspace} needs in addition to a test's own. */
export const FULL_WORKSPACE_ENV = { VERIFICATION_FROM: "postmaster@example.com" };

async function create(caller: Tenant, path: string, body: unknown) {
  const { status, json } = await caller.call("POST", path, { body });
  if (status >= 300) throw new Error(`POST ${path} answered ${status}: ${json?.detail}`);
  return json;
}

/** Does a bit of everything in a workspace, so that every table of every read model gets rows. */
export async function fillWorkspace(service: TestService, tenant: Tenant): Promise<void> {
  const { workspaceId } = tenant;
  await service.addEndpoints(workspaceId, ["https://a.example.org/hook", "https://b.example.org/hook"]);
  const sender = await create(tenant, "/api/v1/senders", { address: `${newKey()}@example.com` });
  await create(tenant, `/api/v1/senders/${sender.id}/verification`, { method: "email" });
  await create(tenant, "/api/v1/suppressions", { address: "never@example.com" });
  await service.suppress(workspaceId, "gone@example.com");
  await create(tenant, "/api/v1/attachments", FILE);
  const template = await create(tenant, "/api/v1/templates", { name: "Welcome" });
  const versions = `/api/v1/templates/${template.id}/versions`;
  const version = await create(tenant, versions, { subject: "Hi", text: "Hi", variables: [] });
  await create(tenant, `${versions}/${version.id}/publish`, undefined);
  await create(tenant, "/api/v1/templates", { name: "A draft" });
  const deleted = await create(tenant, "/api/v1/templates", { name: "Deleted" });
  await create(tenant, `/api/v1/templates/${deleted.id}/versions`, { subject: "Gone", text: "Gone" });
  await tenant.call("DELETE", `/api/v1/templates/${deleted.id}`);
  await create(tenant, "/api/v1/api-keys", { name: "short", scopes: ["email:send"] });
  await sendMail(service, tenant, template.id);
  await sendUpload(tenant);
  await create(tenant, "/api/v1/erasures", { address: "forgotten@example.com" });
  // It waits for the message that is being delivered.
  await create(tenant, "/api/v1/erasures", { address: "leaving@example.com" });
  await failDelivery(service, tenant);
}

async function sendUpload(tenant: Tenant): Promise<void> {
  const { id } = await create(tenant, "/api/v1/attachments", FILE);
  const status = async () => (await tenant.call("GET", `/api/v1/attachments/${id}`)).json.status;
  await until(async () => (await status()) === "ready", "the upload to be ready");
  const { status: answer, json } = await tenant.send(newKey(), { ...message(), attachments: [id] });
  if (answer !== 202) throw new Error(`sending an upload was refused with ${answer}: ${json?.detail}`);
}

async function sendMail(service: TestService, tenant: Tenant, templateId: string): Promise<void> {
  const send = async (parts: Record<string, unknown> = {}): Promise<string> => {
    const { status, json } = await tenant.send(newKey(), { ...message(), ...parts });
    if (status !== 202) throw new Error(`a send was refused with ${status}: ${json?.detail}`);
    return json.id;
  };
  const claim = { attempt: 1, worker: "test", leaseMs: 120_000, transport: "smtp" };
  const [processing, sent, bounced, deferred] = [
    await send({ to: "leaving@example.com" }),
    await send({ tags: ["receipt", "shop"], metadata: { order: "4711" } }),
    await send(),
    await send(),
  ];
  await send({ attachments: [FILE] });
  await send({ to: "never@example.com" });
  await send({ subject: undefined, text: undefined, template_id: templateId });
  await service.addEmailEvents(processing, { type: "EmailDeliveryStarted", data: claim });
  const start = { type: "EmailDeliveryStarted", data: claim } as const;
  await service.addEmailEvents(sent, start, {
    type: "EmailSent",
    data: { attempt: 1, transport: "smtp", reply: "250 taken" },
  });
  await service.addEmailEvents(bounced, start, {
    type: "EmailBounced",
    data: { attempt: 1, reason: "recipient_refused", code: 550, reply: "550 5.1.1 unknown" },
  });
  await service.addEmailEvents(deferred, start, {
    type: "EmailDeferred",
    data: {
      attempt: 1,
      reason: "recipient_deferred",
      attemptBurnt: true,
      ambiguous: false,
      nextAttemptAt: rfc3339(Date.now() + HOUR_MS),
      code: 450,
      reply: "450 later",
    },
  });
}

/** Records a failed attempt at one webhook delivery. */
async function failDelivery(service: TestService, { call, workspaceId }: Tenant): Promise<void> {
  const [endpoint] = (await call("GET", "/webhooks")).json.data;
  const path = `/webhooks/${endpoint.id}/deliveries`;
  await until(async () => (await call("GET", path)).json.data.length > 0, "a webhook delivery to be created");
  const [delivery] = (await call("GET", path)).json.data;
  const context = { ...systemCommandContext("test"), workspaceId };
  const origin = {
    workspaceId,
    endpointId: endpoint.id,
    eventId: delivery.event_id ?? "event",
    eventStream: "email-x",
    eventRevision: 1,
    eventType: "email.queued",
  };
  const event = (type: string, data: object) => {
    return { id: crypto.randomUUID(), type, data, metadata: metadataOf(context) };
  };
  const outcome = { attempt: 1, durationMs: 5, reason: "status", statusCode: 500, attemptBurnt: true };
  await service.log.store.append(
    webhookDeliveryStream(delivery.id),
    [
      event("WebhookAttemptStarted", { origin, attempt: 1, worker: "test", leaseMs: 30_000 }),
      event("WebhookAttemptFailed", { ...outcome, nextAttemptAt: rfc3339(Date.now() + HOUR_MS) }),
    ],
    "noStream",
  );
}
