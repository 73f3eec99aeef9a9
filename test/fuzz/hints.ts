import { AUDIT_TARGETS, WORKSPACE_ACTIONS } from "../../projections/auditLog/auditActions.ts";
import { AUDIT_ACTORS } from "../../projections/auditLog/auditActors.ts";
import type { SendEmailBody } from "../../src/http/email/sendEmailSchema.ts";
import type { RouteName } from "../../src/http/server/routes.ts";
import type { Json, JsonObject } from "../../src/kernel/text/json.ts";
import { DAY_MS } from "../../src/kernel/time.ts";
import { type Random, randomUuid } from "./random.ts";
import { randomTime } from "./values.ts";
import { type Known, recordDeleted, type Workspace } from "./world.ts";

/** What a hint goes by. */
export interface HintContext {
  readonly random: Random;
  readonly workspace: Workspace;
}

/**
 * What the schemas of an operation do not say, so that a good part of its requests succeeds. Members that are left
 * out are made from the document. A hint without its operation in the document is of no effect.
 */
export interface Hint {
  /** Changes what other operations depend on: goes to a workspace of its own, now and then to the others. */
  readonly isDisruptive?: true;
  /** The operation that makes what this one needs; it is asked first where `params` has nothing to offer. */
  readonly needs?: RouteName;
  /** Null: the workspace has nothing of the kind yet. */
  readonly params?: (context: HintContext) => Readonly<Record<string, string>> | null;
  readonly query?: (context: HintContext) => Readonly<Record<string, string>>;
  readonly body?: (context: HintContext) => Json;
  /** The one file of a multipart body; half of the requests send it where the operation takes both. */
  readonly file?: (context: HintContext) => {
    readonly name: string;
    readonly type: string;
    readonly text: string;
  };
  /** After a success: what has become of the resource that was named. */
  readonly after?: (context: HintContext, params: Readonly<Record<string, string>>) => void;
  /** Why the operation cannot be held to the share of successes. */
  readonly exempt?: string;
}

/** The parameters that name one known resource of a kind. */
function oneOf(kind: string, fits: (known: Known) => boolean = () => true) {
  return ({ random, workspace }: HintContext) => {
    const candidates = (workspace.known.get(kind) ?? []).filter(fits);
    return candidates.length === 0 ? null : { id: random.pick(candidates).id };
  };
}

/** After a success the resource is of no more use for what came before. */
function forgetAfterDelete(kind: string) {
  return ({ random, workspace }: HintContext, params: Readonly<Record<string, string>>) => {
    recordDeleted(workspace, kind, params.id ?? "", random);
  };
}

/** A key that is of no more use afterwards. The keys that the requests themselves are made with stay. */
const spareKey: Hint = {
  needs: "issueApiKey",
  params: (context) => {
    const { tenant, weak } = context.workspace;
    return oneOf("api_key", ({ id }) => id !== tenant.keyId && id !== weak.keyId)(context);
  },
  after: forgetAfterDelete("api_key"),
};

function recipient({ random, workspace }: HintContext): string {
  return `${workspace.canary()}@${random.pick(["example.com", "Example.ORG", "bücher.example", "mail.example.net"])}`;
}

function textFile({ random, workspace }: HintContext) {
  const name = random.pick([".txt", ".md", ".csv"]);
  const type = { ".txt": "text/plain", ".md": "text/markdown", ".csv": "text/csv" }[name] ?? "";
  return { name: workspace.canary() + name, type, text: `${workspace.canary()}, a file\n` };
}

function directFile(context: HintContext): JsonObject {
  const { name, type, text } = textFile(context);
  return { filename: name, content_type: type, content: Buffer.from(text).toString("base64") };
}

function metadata({ random, workspace }: HintContext): JsonObject {
  return {
    [workspace.canary()]: workspace.canary(),
    order: random.integer(0, 1_000),
    paid: random.chance(0.5),
  };
}

/** One uploaded file, a file in the send itself, or both. */
function attachments(context: HintContext): Json {
  const { random, workspace } = context;
  const ready = (workspace.known.get("attachment") ?? []).filter(({ status }) => status === "ready");
  const uploads = ready.length > 0 && random.chance(0.7) ? [random.pick(ready).id] : [];
  return random.chance(0.5) || uploads.length === 0 ? [...uploads, directFile(context)] : uploads;
}

/** A time that a message can be scheduled for. */
function futureTime(random: Random): string {
  return new Date(Date.now() + random.integer(1, 29) * DAY_MS).toISOString();
}

/** Members of a send that every one has, or that depend on each other. */
type DependentMember =
  | ("from" | "to" | "reply_to_name" | "subject" | "html" | "text" | "auto_text")
  | ("template_id" | "template_alias" | "template_version_id" | "variables");

type SometimesGiven = readonly [chance: number, value: (context: HintContext) => Json];

/** How often a send has each of its other members, and the value. The compiler asks for a new one. */
const SOMETIMES_GIVEN: Readonly<Record<Exclude<keyof SendEmailBody, DependentMember>, SometimesGiven>> = {
  from_name: [0.2, ({ workspace }) => workspace.canary()],
  to_name: [0.2, ({ workspace }) => workspace.canary()],
  reply_to: [0.2, recipient],
  tags: [0.2, ({ workspace }) => [workspace.canary(), "welcome"]],
  scheduled_at: [0.2, ({ random }) => futureTime(random)],
  deliver_before: [0.1, () => new Date(Date.now() + DAY_MS).toISOString()],
  content_retention: [0.2, () => "until_final_status"],
  headers: [0.2, ({ workspace }) => ({ "X-Own": workspace.canary(), Precedence: "bulk" })],
  metadata: [0.3, metadata],
  attachments: [0.2, attachments],
};

function sendBody(context: HintContext): Json {
  const { random, workspace } = context;
  const envelope: Record<string, Json> = { from: workspace.sender, to: recipient(context) };
  for (const [name, [chance, value]] of Object.entries(SOMETIMES_GIVEN)) {
    if (random.chance(chance)) envelope[name] = value(context);
  }
  if (envelope.reply_to !== undefined) envelope.reply_to_name = workspace.canary();
  const published = (workspace.known.get("template") ?? []).filter(({ status }) => status === "published");
  if (published.length > 0 && random.chance(0.3)) {
    const { id, alias } = random.pick(published);
    const named = typeof alias === "string" ? { template_alias: alias } : { template_id: id };
    return { ...envelope, ...named, variables: { name: workspace.canary(), count: 2 } };
  }
  const content = random.pick([{ text: workspace.canary() }, { html: `<p>${workspace.canary()}</p>` }]);
  return { ...envelope, subject: `About ${workspace.canary()}`, ...content };
}

function emailsQuery({ random, workspace }: HintContext): Readonly<Record<string, string>> {
  const sent = workspace.sent.length > 0 ? random.pick(workspace.sent) : null;
  const cursors = workspace.cursors.get("listEmails") ?? [];
  const templates = workspace.known.get("template") ?? [];
  const others = {
    ...(random.chance(0.4) ? { limit: String(random.integer(1, 100)) } : {}),
    ...(random.chance(0.2) ? { status: random.pick(["queued", "canceled", "suppressed,sent"]) } : {}),
    ...random.pick([{}, {}, {}, {}, {}, {}, {}, {}, {}, { reason: "recipient_suppressed,mailbox_full" }]),
    ...random.pick([{}, {}, {}, {}, { "metadata[paid]": "true" }]),
    ...(random.chance(0.2) ? { from: workspace.sender } : {}),
    ...(random.chance(0.1) ? { to: `${workspace.canary()}@example.com` } : {}),
    ...(random.chance(0.1) && templates.length > 0 ? { template_id: random.pick(templates).id } : {}),
    ...(random.chance(0.1) ? { created_from: randomTime(random) } : {}),
    ...(random.chance(0.1) ? { created_before: randomTime(random) } : {}),
    ...(random.chance(0.3) && cursors.length > 0 ? { cursor: random.pick(cursors) } : {}),
  };
  return sent && random.chance(0.2) ? { idempotency_key: sent.key } : others;
}

function auditLogQuery({ random, workspace }: HintContext): Readonly<Record<string, string>> {
  const cursors = workspace.cursors.get("listAuditLog") ?? [];
  return {
    ...(random.chance(0.5) ? { limit: String(random.integer(1, 3)) } : {}),
    ...(random.chance(0.1) ? { action: random.pick(WORKSPACE_ACTIONS) } : {}),
    ...(random.chance(0.1) ? { actor: random.pick(AUDIT_ACTORS) } : {}),
    ...(random.chance(0.1) ? { target_type: random.pick(AUDIT_TARGETS) } : {}),
    ...(random.chance(0.3) && cursors.length > 0 ? { cursor: random.pick(cursors) } : {}),
  };
}

/** A version as a template's own list shows it: it names its template. */
function versionParams({ random, workspace }: HintContext) {
  const archived = new Set(workspace.deletedIds.get("template") ?? []);
  const versions = (workspace.known.get("template_version") ?? []).filter(
    ({ template_id: template }) => !archived.has(String(template)),
  );
  if (versions.length === 0) return null;
  const { id, template_id: template } = random.pick(versions);
  return { id: String(template), version_id: id };
}

function draftBody({ workspace }: HintContext): Json {
  return {
    subject: `${workspace.canary()} {{ name }}`,
    html: `<p>{{ name }} ${workspace.canary()}</p>`,
    text: `{% if count > 1 %}{{ count }}{% endif %} ${workspace.canary()}`,
    variables: [
      { name: "name", type: "string", required: true },
      { name: "count", type: "number", default: 1 },
    ],
  };
}

function suppressionParams({ random, workspace }: HintContext) {
  const known = (workspace.known.get("suppression") ?? []).filter(
    ({ address }) => typeof address === "string",
  );
  return known.length === 0 ? null : { address: encodeURIComponent(String(random.pick(known).address)) };
}

const isActive = ({ status }: Known) => status === "active";

/** A delivery as its endpoint's own list shows it: it names its endpoint. */
function deliveryParams(fits: (endpoint: Known) => boolean = () => true) {
  return ({ random, workspace }: HintContext) => {
    const endpoints = (workspace.known.get("webhook_endpoint") ?? []).filter(fits).map(({ id }) => id);
    const endpointIds = new Set(endpoints);
    const deliveries = (workspace.known.get("webhook_delivery") ?? []).filter(({ endpoint_id: id }) =>
      endpointIds.has(String(id)),
    );
    if (deliveries.length === 0) return null;
    const { id, endpoint_id: endpointId } = random.pick(deliveries);
    return { id: String(endpointId), delivery_id: id };
  };
}

function destination({ random, workspace }: HintContext): string {
  return `https://${workspace.canary()}.example.com/${workspace.canary()}?n=${random.integer(0, 9)}`;
}

/** Deliveries can be recovered for so many hours. */
const RECOVER_HOURS_MAX = 13 * 24;

/** Senders that requests have added: the one that all sends go from is left alone. */
const addedSender = (context: HintContext) =>
  oneOf("sender", ({ address }) => address !== context.workspace.sender)(context);

const template = { needs: "createTemplate", params: oneOf("template") } as const;
const version = { needs: "draftTemplateVersion", params: versionParams } as const;
const sender = { needs: "addSender", params: addedSender } as const;
const endpoint = { needs: "registerWebhook", params: oneOf("webhook_endpoint") } as const;
const activeEndpoint = { ...endpoint, params: oneOf("webhook_endpoint", isActive) } as const;
const needsToken = "its path holds a token that is mailed";

/** The buckets of a range that ends somewhere; the range is as long as it is by default. */
function bucketsQuery(
  { random, workspace }: HintContext,
  name: "showUsage" | "showBounces",
): Readonly<Record<string, string>> {
  const cursors = workspace.cursors.get(name) ?? [];
  return {
    ...(random.chance(0.5) ? { by: random.pick(["hour", "day"]) } : {}),
    ...(random.chance(0.2) ? { to: randomTime(random) } : {}),
    ...(random.chance(0.5) ? { limit: String(random.integer(1, 3)) } : {}),
    ...(random.chance(0.3) && cursors.length > 0 ? { cursor: random.pick(cursors) } : {}),
  };
}

function usageQuery(context: HintContext): Readonly<Record<string, string>> {
  const { random, workspace } = context;
  const templates = workspace.known.get("template") ?? [];
  return {
    ...bucketsQuery(context, "showUsage"),
    ...(random.chance(0.5) ? { group_by: random.pick(["sender", "template"]) } : {}),
    ...(random.chance(0.2) && templates.length > 0 ? { template_id: random.pick(templates).id } : {}),
  };
}

/** The hints by operation. */
export const hints: Readonly<Partial<Record<RouteName, Hint>>> = {
  sendEmail: { body: sendBody },
  listEmails: { query: emailsQuery },
  getEmail: {
    needs: "sendEmail",
    params: oneOf("email"),
    query: ({ random }) => (random.chance(0.3) ? { as_of: "2099-01-01T00:00:00Z" } : {}),
  },
  sendEmailBatch: {
    body: (context) => ({
      emails: Array.from({ length: context.random.integer(1, 4) }, () => ({
        ...(sendBody(context) as JsonObject),
        idempotency_key: crypto.randomUUID(),
      })),
    }),
  },
  rescheduleEmail: {
    needs: "sendEmail",
    params: oneOf("email", ({ status }) => status === "scheduled"),
    body: ({ random }) => ({ scheduled_at: futureTime(random) }),
  },
  tellFeedback: {
    needs: "sendEmail",
    params: oneOf("email"),
    body: (context) => {
      const params = oneOf("email")(context);
      return {
        email_id: params?.id ?? randomUuid(context.random),
        type: context.random.pick(["delivered", "bounced", "complained"]),
      };
    },
  },
  takeSesNotification: { exempt: "Amazon signs what it takes, and names a topic that is on a list" },
  takeResendEvent: { exempt: "Resend signs what it takes" },
  takeMailgunEvent: { exempt: "Mailgun signs what it takes" },
  takeSendgridEvents: { exempt: "SendGrid signs what it takes" },
  cancelEmail: {
    needs: "sendEmail",
    params: oneOf("email", ({ status }) => status === "queued" || status === "scheduled"),
    after: forgetAfterDelete("email"),
  },
  // Few messages match, so that others still have something to work on.
  cancelEmails: { query: ({ workspace }) => ({ to: `${workspace.canary()}@example.com` }) },
  tryEmailNow: { needs: "sendEmail", params: oneOf("email") },
  sendEmailAgain: {
    needs: "sendEmail",
    params: oneOf("email"),
    body: (context) => (context.random.chance(0.3) ? { to: recipient(context) } : {}),
  },
  eraseEmailContent: { needs: "sendEmail", params: oneOf("email"), after: forgetAfterDelete("email") },
  requestErasure: { body: (context) => ({ address: recipient(context) }) },
  getErasure: { needs: "requestErasure", params: oneOf("erasure") },
  listAuditLog: { query: auditLogQuery },
  showUsage: { query: usageQuery },
  showBounces: {
    query: (context) => ({
      ...bucketsQuery(context, "showBounces"),
      ...(context.random.chance(0.3) ? { domain: "example.com" } : {}),
    }),
  },
  createTemplate: {
    body: ({ random, workspace }) => ({
      name: workspace.canary(),
      ...(random.chance(0.5) ? { alias: `alias-${random.integer(1, 1_000)}` } : {}),
    }),
  },
  getTemplate: template,
  renameTemplate: { ...template, body: ({ workspace }) => ({ name: workspace.canary() }) },
  deleteTemplate: { ...template, after: forgetAfterDelete("template") },
  archiveTemplate: { ...template, after: forgetAfterDelete("template") },
  draftTemplateVersion: { ...template, body: draftBody },
  listTemplateVersions: template,
  getTemplateVersion: version,
  publishTemplateVersion: version,
  previewTemplateVersion: {
    ...version,
    body: ({ workspace }) => ({ variables: { name: workspace.canary(), count: 3 } }),
  },
  uploadAttachment: { body: directFile, file: textFile },
  getAttachment: { needs: "uploadAttachment", params: oneOf("attachment") },
  deleteAttachment: {
    needs: "uploadAttachment",
    params: oneOf("attachment"),
    after: forgetAfterDelete("attachment"),
  },
  addSuppression: {
    body: (context) => ({ address: recipient(context), note: context.workspace.canary() }),
  },
  getSuppression: { needs: "addSuppression", params: suppressionParams },
  removeSuppression: {
    needs: "addSuppression",
    params: suppressionParams,
    after: ({ random, workspace }, { address }) => {
      const known = workspace.known.get("suppression") ?? [];
      const removed = known.find((one) => encodeURIComponent(String(one.address)) === address);
      if (removed) recordDeleted(workspace, "suppression", removed.id, random);
    },
  },
  listSuppressions: { query: ({ random }) => ({ limit: String(random.integer(1, 100)) }) },
  addSender: {
    body: ({ random, workspace }) =>
      random.chance(0.7)
        ? { address: `${workspace.canary()}@example.com`, display_name: workspace.canary() }
        : { domain: `${workspace.canary()}.example.com`, display_name: workspace.canary() },
  },
  getSender: sender,
  disableSender: sender,
  enableSender: sender,
  requestSenderVerification: {
    ...sender,
    body: ({ random }) => ({ method: random.pick(["email", "dns"]) }),
    exempt: "mail and DNS answer for it, within bounds of so many a day",
  },
  showSenderVerification: { exempt: needsToken },
  confirmSenderVerification: { exempt: needsToken },
  pauseSending: { isDisruptive: true },
  resumeSending: { isDisruptive: true },
  issueApiKey: {
    body: ({ workspace }) => ({ name: workspace.canary(), scopes: ["email:read"], expires_at: null }),
  },
  getApiKey: { needs: "issueApiKey", params: oneOf("api_key") },
  renameApiKey: { ...spareKey, body: ({ workspace }) => ({ name: workspace.canary() }) },
  rotateApiKey: {
    ...spareKey,
    body: ({ random }) => ({ overlap_seconds: random.integer(0, 86_400) }),
  },
  revokeApiKey: spareKey,
  registerWebhook: {
    body: (context) => {
      const { random, workspace } = context;
      return {
        url: destination(context),
        ...(random.chance(0.5) ? { description: workspace.canary() } : {}),
        ...(random.chance(0.3) ? { event_types: ["email.sent", "email.bounced"] } : {}),
        ...(random.chance(0.3) ? { include: ["to", "subject"] } : {}),
      };
    },
  },
  getWebhook: endpoint,
  updateWebhook: {
    ...endpoint,
    body: (context) => {
      const { random, workspace } = context;
      return random.pick<Json>([
        { url: destination(context) },
        { description: workspace.canary() },
        { description: null, event_types: ["email.queued", "webhook.test"] },
        { event_types: null },
        { include: random.pick<string[]>([[], ["from", "to", "subject"]]) },
      ]);
    },
  },
  deleteWebhook: { ...endpoint, after: forgetAfterDelete("webhook_endpoint") },
  disableWebhook: endpoint,
  enableWebhook: endpoint,
  rotateWebhookSecret: {
    ...endpoint,
    query: ({ random }) =>
      random.chance(0.5) ? { overlap_seconds: String(random.integer(0, 604_800)) } : {},
  },
  testWebhook: activeEndpoint,
  listWebhookDeliveries: endpoint,
  getWebhookDelivery: { needs: "listWebhookDeliveries", params: deliveryParams() },
  retryWebhookDelivery: { needs: "listWebhookDeliveries", params: deliveryParams(isActive) },
  recoverWebhook: {
    ...activeEndpoint,
    body: ({ random }) => {
      const hours = random.integer(0, RECOVER_HOURS_MAX);
      return { since: new Date(Date.now() - hours * 3_600_000).toISOString() };
    },
  },
};

/** Parameters that name nothing. */
export function unknownParams(path: string, random: Random): Record<string, string> {
  const names = [...path.matchAll(/\{([a-z_]+)\}/g)].map(([, name = ""]) => name);
  return Object.fromEntries(names.map((name) => [name, randomUuid(random)]));
}
