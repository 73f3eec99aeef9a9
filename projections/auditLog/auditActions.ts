import type { LogEvent } from "../../src/domain/allEventCodecs.ts";
import { OPERATOR } from "../../src/domain/email/events.ts";
import type { PauseRate } from "../../src/domain/workspace/events.ts";
import { isWorker } from "../../src/kernel/event/actor.ts";
import type { ProjectedEvent } from "../../src/ports/readDatabase.ts";
import { idOf } from "../projection.ts";

/** The kinds of targets. `instance` is the whole installation. */
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
export type AuditTarget = (typeof AUDIT_TARGETS)[number];

/** What can be done in a workspace, as entries name it and filters ask for it. */
export const WORKSPACE_ACTIONS = [
  "workspace.created",
  "workspace.renamed",
  "sending.paused",
  "sending.resumed",
  "limits.changed",
  "api_key.issued",
  "api_key.renamed",
  "api_key.rotated",
  "api_key.revoked",
  "sender.added",
  "sender.renamed",
  "sender.verification_requested",
  "sender.verified",
  "sender.disabled",
  "sender.enabled",
  "sender.record_missing",
  "sender.record_found",
  "template.created",
  "template.renamed",
  "template.version_drafted",
  "template.version_published",
  "template.archived",
  "template.deleted",
  "webhook_endpoint.registered",
  "webhook_endpoint.updated",
  "webhook_endpoint.disabled",
  "webhook_endpoint.enabled",
  "webhook_endpoint.secret_rotated",
  "webhook_endpoint.deleted",
  "webhook_endpoint.test_requested",
  "suppression.added",
  "suppression.removed",
  "erasure.requested",
  "erasure.completed",
  "email.canceled",
  "email.recorded_as_sent",
  "email.erasure_requested",
  "email.content_erased",
  "email.rescheduled",
  "attachment.deleted",
] as const;
/** What can be done to the whole installation. */
export const INSTANCE_ACTIONS = [
  "instance.created",
  "master_key.rotated",
  "log.sealed",
  "log.unsealed",
  "log.restored",
  "backup.created",
  "export.created",
  "delivery.resumed",
] as const;
type WorkspaceAction = (typeof WORKSPACE_ACTIONS)[number];
type InstanceAction = (typeof INSTANCE_ACTIONS)[number];

export type AuditDetails = Readonly<Record<string, unknown>>;

/** An entry of the audit log, as made from an event. */
export interface AuditAction {
  readonly action: WorkspaceAction | InstanceAction;
  readonly target: AuditTarget;
  readonly targetId: string;
  /** Its workspace; absent if the metadata or an earlier event of the target names it. */
  readonly workspaceId?: string;
  /** The display name of the target from this event on. */
  readonly label?: string;
  /** Who logs in with the API key that is issued. */
  readonly person?: string;
  readonly details?: AuditDetails;
}

type Data<Type extends LogEvent["type"]> = Extract<LogEvent, { type: Type }>["data"];

/** The entry for each event type; null if it has none. The compiler asks for every type. */
type AuditActions = {
  readonly [Type in LogEvent["type"]]:
    | ((data: Data<Type>, event: ProjectedEvent) => AuditAction | null)
    | null;
};

/** Whether a worker did it: on a schedule, or for a request that has an entry of its own. */
function isByWorker({ metadata }: ProjectedEvent): boolean {
  return isWorker(String(metadata.actor));
}

function about(target: AuditTarget, targetId: string) {
  return (action: AuditAction["action"], rest: Partial<AuditAction> = {}): AuditAction => ({
    action,
    target,
    targetId,
    ...rest,
  });
}

const ofKey = (event: ProjectedEvent) => about("api_key", idOf(event));
const ofSender = (event: ProjectedEvent) => about("sender", idOf(event));
const ofTemplate = (event: ProjectedEvent) => about("template", idOf(event));
const ofWorkspace = (event: ProjectedEvent) => {
  const workspaceId = idOf(event);
  return (action: WorkspaceAction, rest: Partial<AuditAction> = {}) =>
    about("workspace", workspaceId)(action, { workspaceId, ...rest });
};
const ofEndpoint = (event: ProjectedEvent, endpointId: string) => {
  return (action: WorkspaceAction, rest: Partial<AuditAction> = {}) =>
    about("webhook_endpoint", endpointId)(action, { workspaceId: idOf(event), ...rest });
};
const ofInstance = (action: InstanceAction, details?: AuditDetails): AuditAction =>
  about("instance", "")(action, details === undefined ? {} : { details });

/** Only host and port of a webhook URL are shown: its path may be a secret. */
function hostOf(url: string): string {
  return new URL(url).host;
}

/** Member names as the API writes them. */
function snakeCase(data: object): AuditDetails {
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );
}

/** Why the service has paused a workspace; `rateIn` is the inverse. */
function ofRate({ kind, ...counts }: PauseRate): AuditDetails {
  return { rate: kind, ...counts };
}

/** The rate in the details of a pause; null if somebody asked for it. */
export function rateIn({ rate: kind, ...counts }: AuditDetails): PauseRate | null {
  return kind === undefined ? null : ({ kind, ...counts } as PauseRate);
}

export const AUDIT_ACTIONS: AuditActions = {
  WorkspaceCreated: ({ name }, event) => ofWorkspace(event)("workspace.created", { label: name }),
  WorkspaceRenamed: ({ name }, event) => ofWorkspace(event)("workspace.renamed", { label: name }),
  SendingPaused: ({ rate }, event) => ofWorkspace(event)("sending.paused", rate && { details: ofRate(rate) }),
  SendingResumed: (_, event) => ofWorkspace(event)("sending.resumed"),
  LimitsChanged: (limits, event) => ofWorkspace(event)("limits.changed", { details: snakeCase(limits) }),

  ApiKeyIssued: ({ workspaceId, name, hash: _, issuerId: __, scopes, expiresAt = null, ...rest }, event) => {
    const details = { scopes, expires_at: expiresAt, ...snakeCase(rest) };
    const { person } = rest;
    return ofKey(event)("api_key.issued", { workspaceId, label: name, details, ...(person && { person }) });
  },
  ApiKeyRenamed: ({ name }, event) => ofKey(event)("api_key.renamed", { label: name }),
  ApiKeyRotated: (data, event) => ofKey(event)("api_key.rotated", { details: snakeCase(data) }),
  ApiKeyUsed: null,
  ApiKeyRevoked: (_, event) => ofKey(event)("api_key.revoked"),

  SenderAdded: ({ workspaceId }, event) =>
    ofSender(event)("sender.added", { workspaceId, details: { kind: "address" } }),
  SenderDomainAdded: ({ workspaceId }, event) =>
    ofSender(event)("sender.added", { workspaceId, details: { kind: "domain" } }),
  SenderRenamed: ({ displayName = null }, event) =>
    ofSender(event)("sender.renamed", { details: { display_name: displayName } }),
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
  TemplateRenamed: ({ name }, event) => ofTemplate(event)("template.renamed", { label: name }),
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

  // A suppression because of a message is not a person's act.
  RecipientSuppressed: ({ workspaceId, emailId }, { id }) =>
    emailId === undefined ? about("suppression", id)("suppression.added", { workspaceId }) : null,
  // `apply` replaces the id: see `idOfSuppression`.
  RecipientUnsuppressed: ({ workspaceId }, event) =>
    about("suppression", idOf(event))("suppression.removed", { workspaceId }),
  SuppressionAddressStored: null,
  SuppressionAddressErased: null,

  ErasureRequested: ({ workspaceId }, event) =>
    about("erasure", idOf(event))("erasure.requested", { workspaceId }),
  ErasureApplied: null,
  ErasureCompleted: (_, event) => about("erasure", idOf(event))("erasure.completed"),

  EmailCanceled: (_, event) => (isByWorker(event) ? null : about("email", idOf(event))("email.canceled")),
  EmailContentErasureRequested: ({ reason }, event) =>
    reason === "requested" ? about("email", idOf(event))("email.erasure_requested") : null,
  EmailContentErased: ({ reason }, event) =>
    reason === "requested" && !isByWorker(event) ? about("email", idOf(event))("email.content_erased") : null,
  EmailContentStored: null,
  EmailQueued: null,
  EmailScheduled: null,
  EmailRescheduled: ({ scheduledAt }, event) =>
    about("email", idOf(event))("email.rescheduled", { details: { scheduled_at: scheduledAt } }),
  EmailSuppressed: null,
  EmailDeliveryStarted: null,
  EmailSent: ({ source }, event) =>
    source === OPERATOR ? about("email", idOf(event))("email.recorded_as_sent") : null,
  EmailDeferred: null,
  EmailDelivered: null,
  EmailBounced: null,
  EmailComplained: null,
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
  InstanceRestored: ({ from, lost, takenAt }) =>
    ofInstance("log.restored", { from: lost ? "loss" : from, taken_at: takenAt }),
  InstanceCopied: ({ kind, place, following }) =>
    ofInstance(kind === "backup" ? "backup.created" : "export.created", {
      place,
      ...(following ? { following } : {}),
    }),
  InstanceResumed: () => ofInstance("delivery.resumed"),
  // Written by a new release, without a person.
  LogFormatRaised: null,
  LogImportStarted: null,
  LogImportFinished: null,
  ServiceJoined: null,
  ServiceLeft: null,
  // `audit verify` reports seals.
  LogSealed: null,

  QuotaReserved: null,
  QuotaReturned: null,
  StorageReserved: null,
  StorageReleased: null,
  StorageConfirmed: null,
  StorageCounted: null,
};
