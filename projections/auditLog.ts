import { apiKeyCodec } from "../src/domain/apiKey/events.ts";
import { apiKeyUseCodec } from "../src/domain/apiKeyUse/events.ts";
import { attachmentCodec } from "../src/domain/attachment/events.ts";
import { auditCodec } from "../src/domain/audit/events.ts";
import { emailCodec } from "../src/domain/email/events.ts";
import { erasureCodec, erasureId } from "../src/domain/erasure/events.ts";
import { instanceCodec } from "../src/domain/instance/events.ts";
import { logImportCodec } from "../src/domain/log/events.ts";
import { quotaCodec } from "../src/domain/quota/events.ts";
import { senderCodec } from "../src/domain/sender/events.ts";
import { serviceRegisterCodec } from "../src/domain/serviceRegister/events.ts";
import { storageCodec } from "../src/domain/storage/events.ts";
import { suppressionCodec } from "../src/domain/suppression/events.ts";
import { templateCodec } from "../src/domain/template/events.ts";
import { verificationAllowanceCodec } from "../src/domain/verificationAllowance/events.ts";
import { webhookCodec } from "../src/domain/webhook/events.ts";
import { webhookDeliveryCodec } from "../src/domain/webhookDelivery/events.ts";
import { workspaceCodec } from "../src/domain/workspace/events.ts";
import { invariant } from "../src/kernel/assert.ts";
import type { ProjectedEvent, ReadDatabase, SqlRow } from "../src/ports/readDatabase.ts";
import { type CreatedRange, createdIn, equals, type Found, findRows, type ListPlace } from "./keysetList.ts";
import type { Projection } from "./projection.ts";

/** The codecs of all nouns: a test compares them with those that the program writes by. */
const CODECS = [
  apiKeyCodec,
  apiKeyUseCodec,
  attachmentCodec,
  auditCodec,
  emailCodec,
  erasureCodec,
  instanceCodec,
  logImportCodec,
  quotaCodec,
  senderCodec,
  serviceRegisterCodec,
  storageCodec,
  suppressionCodec,
  templateCodec,
  verificationAllowanceCodec,
  webhookCodec,
  webhookDeliveryCodec,
  workspaceCodec,
] as const;

type LoggedEvent = ReturnType<(typeof CODECS)[number]["decode"]>;

/** What an entry can be about. `instance` is the whole installation. */
export const AUDIT_TARGETS = [
  "workspace",
  "api_key",
  "sender",
  "template",
  "webhook_endpoint",
  "suppression",
  "erasure",
  "email",
  "attachment",
  "instance",
] as const;
type AuditTarget = (typeof AUDIT_TARGETS)[number];

type Details = Readonly<Record<string, unknown>>;

/** What an event says to whoever asks who did what. */
interface Deed {
  readonly action: string;
  readonly target: AuditTarget;
  readonly targetId: string;
  /** The workspace that it was done in; absent where the metadata or what is known of the target tells. */
  readonly workspaceId?: string;
  /** What people call the target, from here on. */
  readonly label?: string;
  readonly details?: Details;
}

type Data<Type extends LoggedEvent["type"]> = Extract<LoggedEvent, { type: Type }>["data"];

/** What each type of event says; null: it is nothing that somebody did to what a workspace is made of. */
type Deeds = {
  readonly [Type in LoggedEvent["type"]]: ((data: Data<Type>, event: ProjectedEvent) => Deed | null) | null;
};

/** What stands behind the stream's category. */
function idOf({ stream }: ProjectedEvent): string {
  return stream.slice(stream.indexOf("-") + 1);
}

/** Whether a worker did it, on a schedule or on somebody's word of which another entry tells. */
function isByWorker({ metadata }: ProjectedEvent): boolean {
  return String(metadata.actor).startsWith("worker:");
}

function about(target: AuditTarget, targetId: string) {
  return (action: string, rest: Partial<Deed> = {}): Deed => ({ action, target, targetId, ...rest });
}

const ofKey = (event: ProjectedEvent) => about("api_key", idOf(event));
const ofSender = (event: ProjectedEvent) => about("sender", idOf(event));
const ofTemplate = (event: ProjectedEvent) => about("template", idOf(event));
const ofWorkspace = (event: ProjectedEvent) => {
  const workspaceId = idOf(event);
  return (action: string, rest: Partial<Deed> = {}) =>
    about("workspace", workspaceId)(action, { workspaceId, ...rest });
};
const ofEndpoint = (event: ProjectedEvent, endpointId: string) => {
  return (action: string, rest: Partial<Deed> = {}) =>
    about("webhook_endpoint", endpointId)(action, { workspaceId: idOf(event), ...rest });
};
const ofInstance = (action: string, details?: Details): Deed =>
  about("instance", "")(action, details === undefined ? {} : { details });

/** Of a destination the name alone is told: its path may be a secret. */
function hostOf(url: string): string {
  return new URL(url).hostname;
}

/** The names that the API has for what events call otherwise. */
function snakeCase(data: object): Details {
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );
}

const DEEDS: Deeds = {
  WorkspaceCreated: ({ name }, event) => ofWorkspace(event)("workspace.created", { label: name }),
  SendingPaused: (_, event) => ofWorkspace(event)("sending.paused"),
  SendingResumed: (_, event) => ofWorkspace(event)("sending.resumed"),
  LimitsChanged: (limits, event) => ofWorkspace(event)("limits.changed", { details: snakeCase(limits) }),

  ApiKeyIssued: ({ workspaceId, name, hash: _, issuerId: __, scopes, expiresAt = null, ...rest }, event) => {
    const details = { scopes, expires_at: expiresAt, ...snakeCase(rest) };
    return ofKey(event)("api_key.issued", { workspaceId, label: name, details });
  },
  ApiKeyRotated: (data, event) => ofKey(event)("api_key.rotated", { details: snakeCase(data) }),
  ApiKeyUsed: null,
  ApiKeyRevoked: (_, event) => ofKey(event)("api_key.revoked"),

  SenderAdded: ({ workspaceId }, event) =>
    ofSender(event)("sender.added", { workspaceId, details: { kind: "address" } }),
  SenderDomainAdded: ({ workspaceId }, event) =>
    ofSender(event)("sender.added", { workspaceId, details: { kind: "domain" } }),
  SenderVerificationRequested: (_, event) => ofSender(event)("sender.verification_requested"),
  SenderVerified: ({ method }, event) => ofSender(event)("sender.verified", { details: { method } }),
  SenderDisabled: (_, event) => ofSender(event)("sender.disabled"),
  SenderEnabled: (_, event) => ofSender(event)("sender.enabled"),
  SenderRecordMissing: (data, event) =>
    ofSender(event)("sender.record_missing", { details: snakeCase(data) }),
  SenderRecordFound: (_, event) => ofSender(event)("sender.record_found"),
  SenderVerificationMailStarted: null,
  SenderVerificationMailSent: null,
  SenderVerificationMailFailed: null,
  VerificationMailCounted: null,

  TemplateCreated: ({ workspaceId, name }, event) =>
    ofTemplate(event)("template.created", { workspaceId, label: name }),
  TemplateVersionDrafted: ({ versionId, number }, event) =>
    ofTemplate(event)("template.version_drafted", { details: { version_id: versionId, number } }),
  TemplateVersionPublished: ({ versionId }, event) =>
    ofTemplate(event)("template.version_published", { details: { version_id: versionId } }),
  TemplateArchived: (_, event) => ofTemplate(event)("template.archived"),
  TemplateDeleted: ({ workspaceId }, event) => ofTemplate(event)("template.deleted", { workspaceId }),

  WebhookEndpointRegistered: ({ endpointId, url }, event) =>
    ofEndpoint(event, endpointId)("webhook_endpoint.registered", { label: hostOf(url) }),
  WebhookEndpointUpdated: ({ endpointId, ...changed }, event) =>
    ofEndpoint(event, endpointId)("webhook_endpoint.updated", {
      ...(changed.url === undefined ? {} : { label: hostOf(changed.url) }),
      details: { changed: Object.keys(snakeCase(changed)).sort() },
    }),
  WebhookEndpointDisabled: ({ endpointId, reason }, event) =>
    ofEndpoint(event, endpointId)("webhook_endpoint.disabled", { details: { reason } }),
  WebhookEndpointEnabled: ({ endpointId }, event) =>
    ofEndpoint(event, endpointId)("webhook_endpoint.enabled"),
  WebhookEndpointSecretRotated: ({ endpointId, previousUntil }, event) =>
    ofEndpoint(event, endpointId)("webhook_endpoint.secret_rotated", {
      details: { previous_until: previousUntil },
    }),
  WebhookEndpointDeleted: ({ endpointId }, event) =>
    ofEndpoint(event, endpointId)("webhook_endpoint.deleted"),
  WebhookTestRequested: ({ endpointId }, event) =>
    ofEndpoint(event, endpointId)("webhook_endpoint.test_requested"),
  WebhookAttemptStarted: null,
  WebhookDelivered: null,
  WebhookAttemptFailed: null,
  WebhookDeliveryExhausted: null,
  WebhookDeliverySkipped: null,
  WebhookRedeliveryRequested: null,

  // Who bounced is in the list of suppressions: here is what people did.
  RecipientSuppressed: ({ workspaceId, reason }, { id }) =>
    reason === "manual" ? about("suppression", id)("suppression.added", { workspaceId }) : null,
  // Its id is that of the event that began it: see `idOfSuppression`.
  RecipientUnsuppressed: ({ workspaceId }, event) =>
    about("suppression", idOf(event))("suppression.removed", { workspaceId }),
  SuppressionAddressStored: null,
  SuppressionAddressErased: null,

  ErasureRequested: ({ workspaceId }, { stream }) =>
    about("erasure", erasureId(stream))("erasure.requested", { workspaceId }),
  ErasureApplied: null,
  ErasureCompleted: (_, { stream }) => about("erasure", erasureId(stream))("erasure.completed"),

  EmailCanceled: (_, event) => (isByWorker(event) ? null : about("email", idOf(event))("email.canceled")),
  EmailContentErasureRequested: ({ reason }, event) =>
    reason === "requested" ? about("email", idOf(event))("email.erasure_requested") : null,
  EmailContentErased: ({ reason }, event) =>
    reason === "requested" && !isByWorker(event) ? about("email", idOf(event))("email.content_erased") : null,
  EmailContentStored: null,
  EmailQueued: null,
  EmailSuppressed: null,
  EmailDeliveryStarted: null,
  EmailSent: null,
  EmailDeferred: null,
  EmailBounced: null,
  EmailFailed: null,
  EmailAttachmentsExpired: null,

  AttachmentExpired: ({ reason }, event) =>
    reason === "deleted" && !isByWorker(event)
      ? about("attachment", idOf(event))("attachment.deleted")
      : null,
  AttachmentUploaded: null,
  AttachmentValidated: null,
  AttachmentRejected: null,
  AttachmentBytesRemoved: null,
  AttachmentErased: null,

  InstanceCreated: () => ofInstance("instance.created"),
  MasterKeyRotated: () => ofInstance("master_key.rotated"),
  InstanceSealed: () => ofInstance("log.sealed"),
  InstanceUnsealed: () => ofInstance("log.unsealed"),
  InstanceRestored: ({ from, takenAt }) => ofInstance("log.restored", { from, taken_at: takenAt }),
  InstanceCopied: ({ kind, place }) =>
    ofInstance(kind === "backup" ? "backup.created" : "export.created", { place }),
  InstanceResumed: () => ofInstance("delivery.resumed"),
  // A release writes it by itself, and read models stop at it.
  LogFormatRaised: null,
  LogImportStarted: null,
  LogImportFinished: null,
  ServiceJoined: null,
  ServiceLeft: null,
  // `audit verify` tells of those.
  LogSealed: null,

  QuotaReserved: null,
  QuotaReturned: null,
  StorageReserved: null,
  StorageReleased: null,
  StorageConfirmed: null,
  StorageCounted: null,
};

const codecByType = new Map(CODECS.flatMap((codec) => codec.types.map((type) => [type, codec] as const)));
/** The types of events of which it was decided what they say, were it nothing. */
export const DECIDED_TYPES: readonly string[] = Object.keys(DEEDS);

/** Events that cut off the beginning of their stream: what was told of it is forgotten, as a rebuild would. */
const CUTS: ReadonlySet<string> = new Set([
  "SuppressionAddressErased",
  "AttachmentErased",
  "TemplateDeleted",
]);

const INSERT = `INSERT INTO audit_log (id, workspace_id, created_at, action, actor, actor_name, target_type, target_id,
  target_label, request_id, details, stream, revision) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const KNOWN = "SELECT workspace_id, label FROM audited WHERE type = ? AND id = ?";
const KNOW = `INSERT INTO audited (type, id, workspace_id, label) VALUES (?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET label = ifnull(excluded.label, label)`;
const FORGET = "DELETE FROM audit_log WHERE stream = ? AND revision <= ?";
const FORGET_TARGET = "DELETE FROM audited WHERE type = ? AND id = ?";

/** Stands for "of the whole installation" in a column that holds no nulls. */
const NO_WORKSPACE = "";

/** What later events of a target do not say themselves. */
interface Known {
  readonly workspaceId: string;
  readonly label: string | null;
}

function known(db: ReadDatabase, type: string, id: string): Known | null {
  const row = db.get(KNOWN, type, id);
  if (row === undefined) return null;
  return { workspaceId: String(row.workspace_id), label: row.label === null ? null : String(row.label) };
}

function note(deed: Deed, event: ProjectedEvent, db: ReadDatabase): void {
  const before = known(db, deed.target, deed.targetId);
  const { at, actor, correlationId, workspaceId: named } = event.metadata;
  const workspaceId = deed.workspaceId ?? named ?? before?.workspaceId ?? NO_WORKSPACE;
  const label = deed.label ?? before?.label ?? null;
  if (before === null ? LATER_EVENTS_NAME_LESS.has(deed.target) : deed.label !== undefined) {
    db.run(KNOW, deed.target, deed.targetId, String(workspaceId), deed.label ?? null);
  }
  const who = actorOf(String(actor));
  const keyName = isKey(who) ? (known(db, "api_key", who)?.label ?? null) : null;
  const details = JSON.stringify(deed.details ?? {});
  const { id, stream, revision } = event;
  const target = [deed.target, deed.targetId, label] as const;
  const where = [String(workspaceId), String(at)] as const;
  db.run(
    INSERT,
    id,
    ...where,
    deed.action,
    who,
    keyName,
    ...target,
    String(correlationId),
    details,
    stream,
    revision,
  );
}

/** Targets of which the first event says what later ones leave out. */
const LATER_EVENTS_NAME_LESS: ReadonlySet<AuditTarget> = new Set([
  "workspace",
  "api_key",
  "sender",
  "template",
  "webhook_endpoint",
  "erasure",
]);

/** Who acts without an API key. */
export const AUDIT_ACTORS = ["command_line", "verification_link", "system"] as const;

function isKey(actor: string): boolean {
  return !(AUDIT_ACTORS as readonly string[]).includes(actor);
}

const KEY_PREFIX = "api-key:";

/** The id of the key that acted, or who acts without one. */
function actorOf(actor: string): string {
  if (actor.startsWith(KEY_PREFIX)) return actor.slice(KEY_PREFIX.length);
  if (actor === "cli") return "command_line";
  return actor === "verification-link" ? "verification_link" : "system";
}

function forgetCut(event: ProjectedEvent, data: object, db: ReadDatabase): void {
  const { erased } = data as { readonly erased: readonly { readonly revision: number }[] };
  db.run(FORGET, event.stream, Math.max(-1, ...erased.map(({ revision }) => revision)));
  if (event.type === "TemplateDeleted") db.run(FORGET_TARGET, "template", idOf(event));
}

/** A suppression has the id of the event that began it, which its end does not say. */
function idOfSuppression(deed: Deed, event: ProjectedEvent, db: ReadDatabase): string {
  if (event.type !== "RecipientUnsuppressed") return deed.targetId;
  const began = known(db, "suppression", deed.targetId)?.label ?? "";
  db.run(FORGET_TARGET, "suppression", deed.targetId);
  return began;
}

function apply(event: ProjectedEvent, db: ReadDatabase): void {
  const { type, data } = decoded(event);
  if (CUTS.has(type)) forgetCut(event, data, db);
  if (type === "RecipientSuppressed") db.run(KNOW, "suppression", idOf(event), data.workspaceId, event.id);
  const tell = DEEDS[type] as ((data: object, event: ProjectedEvent) => Deed | null) | null;
  const deed = tell?.(data, event) ?? null;
  if (deed === null) return;
  note(
    deed.target === "suppression" ? { ...deed, targetId: idOfSuppression(deed, event, db) } : deed,
    event,
    db,
  );
}

function decoded(event: ProjectedEvent): LoggedEvent {
  const codec = codecByType.get(event.type);
  invariant(codec, `${event.type} has a codec`);
  return codec.decode(event);
}

const EVENTS = [...codecByType.keys()].filter(
  (type) => DEEDS[type as LoggedEvent["type"]] !== null || CUTS.has(type),
);

/**
 * Who did what when to what a workspace is made of: keys, senders, templates, endpoints, limits, suppressions,
 * erasures. Holds no address: whom a sender or a suppression names is in their own streams.
 */
export const auditLog: Projection = {
  name: "audit-log",
  version: 1,
  events: EVENTS,
  tables: [
    {
      name: "audit_log",
      columns: `id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, created_at TEXT NOT NULL, action TEXT NOT NULL,
        actor TEXT NOT NULL, actor_name TEXT, target_type TEXT NOT NULL, target_id TEXT NOT NULL, target_label TEXT,
        request_id TEXT NOT NULL, details TEXT NOT NULL, stream TEXT NOT NULL, revision INTEGER NOT NULL`,
      key: ["id"],
      indexes: [
        "CREATE INDEX audit_log_by_time ON audit_log (workspace_id, created_at)",
        "CREATE INDEX audit_log_by_stream ON audit_log (stream, revision)",
      ],
    },
    {
      // What later events of a target do not say: whose it is, and what people call it.
      name: "audited",
      columns:
        "type TEXT NOT NULL, id TEXT NOT NULL, workspace_id TEXT NOT NULL, label TEXT, PRIMARY KEY (type, id)",
      key: ["type", "id"],
    },
  ],
  apply,
};

/** Which entries to list. */
export interface AuditQuery extends CreatedRange {
  /** Null: of the whole installation, such as backups. */
  readonly workspaceId: string | null;
  readonly action?: string;
  /** The id of a key, or one of {@link AUDIT_ACTORS}. */
  readonly actor?: string;
  readonly targetType?: string;
  readonly targetId?: string;
  /** The last row of the page before. */
  readonly after?: ListPlace;
  readonly limit: number;
}

/** Who did what to what, and when. */
export interface AuditRow {
  readonly id: string;
  readonly createdAt: string;
  readonly action: string;
  readonly actor: { readonly type: string; readonly id: string | null; readonly name: string | null };
  readonly target: { readonly type: AuditTarget; readonly id: string | null; readonly label: string | null };
  readonly requestId: string;
  readonly details: Details;
}

/** Entries of one workspace, newest first. */
export function listAuditLog(db: ReadDatabase, query: AuditQuery): Found<AuditRow> {
  const owner = query.workspaceId ?? NO_WORKSPACE;
  const { rows, next } = findRows(db, {
    ...{ table: "audit_log", of: "workspace_id", owner },
    columns: "*",
    index: "audit_log_by_time",
    along: [...equals("workspace_id", owner), ...createdIn(query)],
    wanted: [
      ...equals("action", query.action),
      ...equals("actor", query.actor),
      ...equals("target_type", query.targetType),
      ...equals("target_id", query.targetId),
    ],
    limit: query.limit,
    ...(query.after === undefined ? {} : { after: query.after }),
  });
  return { rows: rows.map(auditRow), next };
}

function textOf(row: SqlRow, column: string): string | null {
  const value = row[column] ?? null;
  return value === null || value === "" ? null : String(value);
}

function auditRow(row: SqlRow): AuditRow {
  const actor = String(row.actor);
  return {
    id: String(row.id),
    createdAt: String(row.created_at),
    action: String(row.action),
    actor: isKey(actor)
      ? { type: "api_key", id: actor, name: textOf(row, "actor_name") }
      : { type: actor, id: null, name: null },
    target: {
      type: row.target_type as AuditTarget,
      id: textOf(row, "target_id"),
      label: textOf(row, "target_label"),
    },
    requestId: String(row.request_id),
    details: JSON.parse(String(row.details)) as Details,
  };
}
