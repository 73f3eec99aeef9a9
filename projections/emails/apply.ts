import {
  ACCEPTED_AS,
  type AcceptanceEvent,
  EMAIL_STATUS_EVENTS,
  type EmailEvent,
  emailCodec,
  IN_EVENT_CONTENT_BYTES_MAX,
  isAcceptance,
} from "../../src/domain/email/events.ts";
import { HOLD_EVENTS } from "../../src/domain/instance/events.ts";
import { keyIdOf } from "../../src/kernel/event/actor.ts";
import { mailOwnerId } from "../../src/kernel/liveOrTestOwner.ts";
import { epochMs } from "../../src/kernel/time.ts";
import type { ProjectedEvent, ProjectedRows, SqlRow } from "../../src/ports/readDatabase.ts";
import { atOf, idOf } from "../projection.ts";
import { addInto, insertInto, sqlList } from "../sqlListsAndInserts.ts";
import { holdAll, releaseAll } from "./holdAfterRestore.ts";
import { LEASED, MOVED, NOT_QUEUED, READY_AGAIN, RESUMED, WAITING_SINCE } from "./mailQueueColumns.ts";
import { applyErasure, ERASURE_EVENTS } from "./recipientErasure.ts";
import { fingerprintKey } from "./tables.ts";
import {
  type CountedMessage,
  countAccepted,
  countBounced,
  countEnded,
  countForRates,
} from "./usage/apply.ts";
import { ENDED, type Ending, type Feedback } from "./usage/tables.ts";

export const EVENTS = [
  ...EMAIL_STATUS_EVENTS,
  "EmailRescheduled",
  "EmailContentErased",
  ...HOLD_EVENTS,
  ...ERASURE_EVENTS,
];

const insertEmail = insertInto("emails", [
  ...["id", "workspace_id", "status", "accepted_as", "sender_id", "template_id", "recipient_hash", "reason"],
  ...["created_at", "updated_at", "attempts", "is_retained", "content_bytes", "tags", "fingerprint"],
  ...["authority_id", "queue", "due_at", "revision", "scheduled_at", "lease_ms", "held", "simulated"],
  ...["needs_content_store", "deliver_before", "template_version_id", "api_key_id", "again_of"],
] as const);
const TAGGED = "INSERT INTO email_tags (tag, id, created_at) VALUES (?, ?, ?)";
const WITH_METADATA = "INSERT INTO email_metadata (pair, id, created_at) VALUES (?, ?, ?)";
const addContentBytes = addInto("content", ["workspace_id"], ["bytes"]);
/** What counts of a message that has ended, or about which something is reported. */
const COUNTED = `workspace_id, sender_id, template_id, tags, reason, simulated, ${WAITING_SINCE} AS since`;
/** The first end stays; of later ones only that a relay took the message changes anything: see `SENT_LATE`. */
const END = `UPDATE emails SET status = ?, reason = ?, updated_at = ?, is_retained = 1, ${NOT_QUEUED}
  WHERE id = ? AND status NOT IN ${ENDED} RETURNING ${COUNTED}`;
/** As `send` of the domain: a relay took a message that has ended otherwise, unless a report says more about it. */
const SENT_LATE = `UPDATE emails SET status = ifnull(reported, 'sent'), reason = reported_reason, updated_at = ?
  WHERE id = ? AND status IN ('bounced', 'failed', 'suppressed', 'canceled') AND status <> ifnull(reported, 'sent')
  RETURNING status, ${COUNTED}`;
const REPORTED = "UPDATE emails SET reported = ?, reported_reason = ? WHERE id = ? AND reported IS NULL";
/** Feedback on a message that a relay has taken; it supersedes the statuses in `from`. */
const feedbackAfter = (from: readonly string[]) => `UPDATE emails SET status = ?, reason = ?, updated_at = ?
  WHERE id = ? AND status IN ${sqlList(from)} RETURNING ${COUNTED}`;
const FEEDBACK_AFTER_SENT: Readonly<Record<Feedback, string>> = {
  delivered: feedbackAfter(["sent"]),
  bounced: feedbackAfter(["sent", "delivered"]),
  complained: feedbackAfter(["sent", "delivered"]),
};
/** Feedback on a message of which nobody knew whether the relay had it: it ends its delivery. */
const FEEDBACK_INSTEAD_OF_SENT = `UPDATE emails SET status = ?, reason = ?, updated_at = ?, is_retained = 1, ${NOT_QUEUED}
  WHERE id = ? AND status IN ('sending', 'deferred') RETURNING ${COUNTED}`;
const CONTENT_OF = "SELECT workspace_id, content_bytes FROM emails WHERE id = ?";
const ERASED = "UPDATE emails SET is_retained = 0, content_bytes = 0 WHERE id = ?";
const METADATA_ERASED = "DELETE FROM email_metadata WHERE id = ?";
const START = `UPDATE emails SET status = 'sending', attempts = ?, updated_at = ?, ${LEASED} WHERE id = ?`;
/** Only the attempt that holds the claim may put a message back into the queue. */
const DEFER = `UPDATE emails SET status = 'deferred', reason = ?, updated_at = ?, ${READY_AGAIN}
  WHERE id = ? AND status = 'sending' AND attempts = ?`;

const NEVER_QUEUED = { authority_id: null, queue: null, due_at: null, revision: null };

function accept(event: ProjectedEvent, { type, data }: AcceptanceEvent, db: ProjectedRows): void {
  const { workspaceId, senderId, recipientHash, acceptedAt } = data;
  const { templateId = null, templateVersionId = null, againOf = null } = data;
  const { contentBytes, tagHashes = [], metadataHashes = [], test: isTest = false, fingerprint } = data;
  const { authorityId = senderId, simulated = false, attachmentBytes, deliverBefore } = data;
  const ownerId = mailOwnerId({ workspaceId, isTest });
  const id = idOf(event);
  const isSuppressed = type === "EmailSuppressed";
  const scheduledAt = type === "EmailScheduled" ? data.scheduledAt : null;
  const status = ACCEPTED_AS[type];
  const queued = {
    authority_id: authorityId,
    queue: "ready",
    due_at: epochMs(scheduledAt ?? acceptedAt),
    revision: event.revision,
  };
  insertEmail(db, {
    ...{ id, workspace_id: ownerId, sender_id: senderId, template_id: templateId },
    template_version_id: templateVersionId,
    again_of: againOf,
    api_key_id: keyIdOf(String(event.metadata.actor)),
    recipient_hash: recipientHash,
    status,
    accepted_as: status,
    created_at: acceptedAt,
    updated_at: acceptedAt,
    attempts: 0,
    reason: isSuppressed ? data.reason : null,
    is_retained: isSuppressed ? 1 : 0,
    content_bytes: contentBytes,
    tags: tagHashes.length === 0 ? null : tagHashes.join(" "),
    fingerprint: fingerprintKey(fingerprint),
    ...(isSuppressed ? NEVER_QUEUED : queued),
    scheduled_at: scheduledAt,
    lease_ms: 0,
    held: 0,
    simulated: Number(simulated),
    needs_content_store: Number(attachmentBytes !== undefined || contentBytes > IN_EVENT_CONTENT_BYTES_MAX),
    deliver_before: deliverBefore === undefined ? null : epochMs(deliverBefore),
  });
  for (const tag of tagHashes) db.run(TAGGED, tag, id, acceptedAt);
  for (const pair of metadataHashes) db.run(WITH_METADATA, pair, id, acceptedAt);
  addContentBytes(db, [ownerId], [contentBytes]);
  const message = { ownerId, senderId, templateId, tags: tagHashes };
  countAccepted(db, message, acceptedAt, isSuppressed);
}

/** Ends the message and returns it. Undefined if it had ended before; then nothing changes. */
function end(
  event: ProjectedEvent,
  db: ProjectedRows,
  ending: Ending,
  reason: string | null,
): CountedMessage | undefined {
  const row = db.change(END, ending, reason, atOf(event), idOf(event));
  rate(db, ending, row, false);
  return count(event, db, ending, row);
}

/** The same as {@link end}, for feedback. */
function applyFeedback(
  event: ProjectedEvent,
  db: ProjectedRows,
  feedback: Feedback,
  reason: string | null,
): CountedMessage | undefined {
  if (feedback !== "delivered") db.run(REPORTED, feedback, reason, idOf(event));
  const values = [feedback, reason, atOf(event), idOf(event)] as const;
  const sent = db.change(FEEDBACK_AFTER_SENT[feedback], ...values);
  const row = sent ?? db.change(FEEDBACK_INSTEAD_OF_SENT, ...values);
  rate(db, feedback, row, sent !== undefined);
  return count(event, db, feedback, row);
}

/** Counts the ending or feedback of this row's message. */
function count(
  event: ProjectedEvent,
  db: ProjectedRows,
  ending: Ending | Feedback,
  row: SqlRow | undefined,
): CountedMessage | undefined {
  if (row === undefined) return undefined;
  const templateId = row.template_id === null ? null : String(row.template_id);
  const tags = row.tags === null ? [] : String(row.tags).split(" ");
  const message = { ownerId: String(row.workspace_id), senderId: String(row.sender_id), templateId, tags };
  countEnded(db, message, atOf(event), ending);
  return message;
}

/** Counts the same for the rates of its workspace, to which the simulator's mail, and so test mail, adds nothing. */
function rate(db: ProjectedRows, ending: Ending | Feedback, row: SqlRow | undefined, wasSent: boolean): void {
  if (row === undefined || row.simulated !== 0) return;
  const message = {
    ownerId: String(row.workspace_id),
    since: String(row.since),
    reason: row.reason === null ? null : String(row.reason),
  };
  countForRates(db, message, ending, wasSent);
}

/**
 * A relay took the message. It counts as sent, or as what was reported about it, besides an end that came before. (A
 * message that another relay had refused for good then counts twice for the rates.)
 */
function send(event: ProjectedEvent, db: ProjectedRows): void {
  if (end(event, db, "sent", null)) return;
  const row = db.change(SENT_LATE, atOf(event), idOf(event));
  if (row === undefined) return;
  const status = String(row.status) as "sent" | Feedback;
  rate(db, status, row, false);
  const message = count(event, db, status, row);
  if (message && status === "bounced") countBounced(db, message, atOf(event), undefined);
}

function bounce(
  event: ProjectedEvent,
  db: ProjectedRows,
  { reason, recipientDomain, source }: Extract<EmailEvent, { type: "EmailBounced" }>["data"],
): void {
  const message =
    source === undefined ? end(event, db, "bounced", reason) : applyFeedback(event, db, "bounced", reason);
  if (message) countBounced(db, message, atOf(event), recipientDomain);
}

/** Sets the content bytes to zero, so that a repeat subtracts nothing. The message is no longer found by its metadata. */
function eraseContent(id: string, db: ProjectedRows): void {
  const row = db.get(CONTENT_OF, id);
  if (row === undefined) return;
  addContentBytes(db, [String(row.workspace_id)], [-Number(row.content_bytes)]);
  db.run(ERASED, id);
  db.run(METADATA_ERASED, id);
}

/** Updates the row of the event's message, and the sums over messages. */
export function apply(event: ProjectedEvent, db: ProjectedRows): void {
  if (event.type === "InstanceRestored") holdAll(db);
  else if (event.type === "InstanceResumed") releaseAll(db);
  else if (ERASURE_EVENTS.includes(event.type)) applyErasure(event, db);
  else {
    const decoded = emailCodec.decode(event);
    if (isAcceptance(decoded)) accept(event, decoded, db);
    else applyLater(event, decoded, db);
  }
}

function applyLater(event: ProjectedEvent, { type, data }: EmailEvent, db: ProjectedRows): void {
  const id = idOf(event);
  const at = atOf(event);
  switch (type) {
    case "EmailDeliveryStarted":
      db.run(START, data.attempt, at, event.revision, data.leaseMs, data.worker, id);
      break;
    case "EmailRescheduled":
      db.run(MOVED, data.scheduledAt, epochMs(data.scheduledAt), event.revision, id);
      break;
    case "EmailDeferred": {
      const dueAt = epochMs(data.nextAttemptAt);
      if (data.reason === "resumed") db.run(RESUMED, dueAt, event.revision, id);
      else db.run(DEFER, data.reason, at, dueAt, event.revision, id, data.attempt);
      break;
    }
    case "EmailSent":
      send(event, db);
      break;
    case "EmailBounced":
      bounce(event, db, data);
      break;
    case "EmailDelivered":
      applyFeedback(event, db, "delivered", null);
      break;
    case "EmailComplained":
      applyFeedback(event, db, "complained", null);
      break;
    case "EmailFailed":
      end(event, db, "failed", data.reason);
      break;
    case "EmailSuppressed":
      end(event, db, "suppressed", data.reason);
      break;
    case "EmailCanceled":
      end(event, db, "canceled", null);
      break;
    case "EmailContentErased":
      eraseContent(id, db);
      break;
  }
}
