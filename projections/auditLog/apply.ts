import { codecOfType, type LogEvent } from "../../src/domain/allEventCodecs.ts";
import { invariant } from "../../src/kernel/assert.ts";
import type { ProjectedEvent, ReadDatabase } from "../../src/ports/readDatabase.ts";
import { idOf } from "../projection.ts";
import { insertInto } from "../sqlListsAndInserts.ts";
import { AUDIT_ACTIONS, type AuditAction, type AuditDetails, type AuditTarget } from "./auditActions.ts";
import { actorOf, isKey, NO_WORKSPACE } from "./auditActors.ts";
import { textOf } from "./queries.ts";

/** Events after which the start of their stream is truncated. Its entries go too: a rebuild would not have them. */
const CUTS: ReadonlySet<string> = new Set([
  "SuppressionAddressErased",
  "AttachmentErased",
  "TemplateDeleted",
]);

const insertRow = insertInto("audit_log", [
  ...["id", "workspace_id", "created_at", "action", "actor", "actor_name", "actor_person", "target_type"],
  ...["target_id", "target_label", "request_id", "details", "stream", "revision"],
] as const);
const KNOWN = "SELECT workspace_id, label, person FROM audited WHERE type = ? AND id = ?";
const KNOW = `INSERT INTO audited (type, id, workspace_id, label, person) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET label = ifnull(excluded.label, label)`;
const FORGET = "DELETE FROM audit_log WHERE stream = ? AND revision <= ?";
const FORGET_TARGET = "DELETE FROM audited WHERE type = ? AND id = ?";

/** Facts about a target that its later events don't repeat. */
interface Known {
  readonly workspaceId: string;
  readonly label: string | null;
  /** Who logs in with it, if it is such an API key. */
  readonly person: string | null;
}

function known(db: ReadDatabase, type: string, id: string): Known | null {
  const row = db.get(KNOWN, type, id);
  if (row === undefined) return null;
  return {
    workspaceId: String(row.workspace_id),
    label: textOf(row, "label"),
    person: textOf(row, "person"),
  };
}

function insertEntry(action: AuditAction, event: ProjectedEvent, db: ReadDatabase): void {
  const before = known(db, action.target, action.targetId);
  const { at, actor, correlationId, workspaceId: named } = event.metadata;
  const workspaceId = action.workspaceId ?? named ?? before?.workspaceId ?? NO_WORKSPACE;
  const label = action.label ?? before?.label ?? null;
  const who = actorOf(String(actor));
  // Before the new label is stored: a key that renames itself did so under its former name.
  const key = isKey(who) ? known(db, "api_key", who) : null;
  if (before === null ? KNOWN_BY_FIRST_EVENT.has(action.target) : action.label !== undefined) {
    const { label: newLabel = null, person = null } = action;
    db.run(KNOW, action.target, action.targetId, String(workspaceId), newLabel, person);
  }
  insertRow(db, {
    id: event.id,
    workspace_id: String(workspaceId),
    created_at: String(at),
    action: action.action,
    actor: who,
    actor_name: key?.label ?? null,
    actor_person: key?.person ?? null,
    target_type: action.target,
    target_id: action.targetId,
    target_label: label,
    request_id: String(correlationId),
    details: JSON.stringify({ ...action.details, ...previousLabel(before, label) }),
    stream: event.stream,
    revision: event.revision,
  });
}

/** What a target was called before an event that has changed it. */
function previousLabel(before: Known | null, label: string | null): AuditDetails {
  const previous = before?.label ?? null;
  return previous === null || previous === label ? {} : { previous_label: previous };
}

/** Targets whose later events don't repeat the facts of the first. */
const KNOWN_BY_FIRST_EVENT: ReadonlySet<AuditTarget> = new Set([
  "workspace",
  "api_key",
  "sender",
  "template",
  "webhook_endpoint",
  "erasure",
]);

function forgetCut(event: ProjectedEvent, data: object, db: ReadDatabase): void {
  const { erased } = data as { readonly erased: readonly { readonly revision: number }[] };
  db.run(FORGET, event.stream, Math.max(-1, ...erased.map(({ revision }) => revision)));
  if (event.type === "TemplateDeleted") db.run(FORGET_TARGET, "template", idOf(event));
}

/** A suppression's id is the id of its first event, which the event that ends it does not contain. */
function idOfSuppression(action: AuditAction, event: ProjectedEvent, db: ReadDatabase): string {
  if (event.type !== "RecipientUnsuppressed") return action.targetId;
  const began = known(db, "suppression", action.targetId)?.label ?? "";
  db.run(FORGET_TARGET, "suppression", action.targetId);
  return began;
}

export function apply(event: ProjectedEvent, db: ReadDatabase): void {
  const { type, data } = decoded(event);
  if (CUTS.has(type)) forgetCut(event, data, db);
  if (type === "RecipientSuppressed")
    db.run(KNOW, "suppression", idOf(event), data.workspaceId, event.id, null);
  const entryOf = AUDIT_ACTIONS[type] as ((data: object, event: ProjectedEvent) => AuditAction | null) | null;
  const action = entryOf?.(data, event) ?? null;
  if (action === null) return;
  insertEntry(
    action.target === "suppression" ? { ...action, targetId: idOfSuppression(action, event, db) } : action,
    event,
    db,
  );
}

function decoded(event: ProjectedEvent): LogEvent {
  const codec = codecOfType(event.type);
  invariant(codec, `${event.type} has a codec`);
  return codec.decode(event);
}

export const EVENTS: readonly string[] = Object.keys(AUDIT_ACTIONS).filter(
  (type) => AUDIT_ACTIONS[type as LogEvent["type"]] !== null || CUTS.has(type),
);
