/**
 * The mail delivery queue, as columns of a message's row. `queue` is `ready` or `leased`, and null once the message has
 * ended. When the log is restored, earlier messages become `held` instead of `ready` until the operator resumes them;
 * `held` is 1 for them and for those that were claimed then. `revision` is that of the event that caused this state. A
 * message counts as waiting since its acceptance, or since `scheduled_at` (RFC 3339). `simulated` mail has its own
 * queue, because it needs no relay. `needs_content_store` is 1 if files or the content must be read from there.
 * `deliver_before` is when a message fails that still waits; null for most, which have the whole lifetime.
 */
export const QUEUE_COLUMNS = `authority_id TEXT, queue TEXT, due_at INTEGER, revision INTEGER, scheduled_at TEXT,
  lease_ms INTEGER NOT NULL, claimed_by TEXT, held INTEGER NOT NULL, simulated INTEGER NOT NULL,
  needs_content_store INTEGER NOT NULL, deliver_before INTEGER`;

/** SQL: since when a message counts as waiting. */
export const WAITING_SINCE = "ifnull(scheduled_at, created_at)";

export const QUEUE_INDEXES: readonly string[] = [
  "CREATE INDEX mail_queue_ready ON emails (simulated, due_at) WHERE queue = 'ready'",
  // Lets a query step from sender to sender and workspace to workspace, past all that one of them has waiting.
  "CREATE INDEX mail_queue_by_sender ON emails (simulated, workspace_id, authority_id, sender_id, needs_content_store, due_at) WHERE queue = 'ready'",
  `CREATE INDEX mail_queue_by_age ON emails (workspace_id, ${WAITING_SINCE}) WHERE queue = 'ready'`,
  // Few messages have a deadline, and the others cost nothing here.
  "CREATE INDEX mail_queue_by_deadline ON emails (deliver_before) WHERE queue = 'ready' AND deliver_before IS NOT NULL",
  "CREATE INDEX mail_queue_deferred ON emails (simulated) WHERE status = 'deferred'",
  "CREATE INDEX mail_queue_leased ON emails (queue) WHERE queue = 'leased'",
  "CREATE INDEX mail_queue_held ON emails (held, due_at) WHERE held = 1",
];

/** What a claim, the end of a claim and the end of a message set in addition to the status. */
export const LEASED = "queue = 'leased', revision = ?, lease_ms = ?, claimed_by = ?";
export const READY_AGAIN =
  "queue = iif(held, 'held', 'ready'), due_at = ?, revision = ?, lease_ms = 0, claimed_by = NULL";
export const NOT_QUEUED =
  "queue = NULL, due_at = NULL, revision = NULL, lease_ms = 0, claimed_by = NULL, held = 0";

/** Makes a waiting message due, as the operator asked. */
export const RESUMED =
  "UPDATE emails SET due_at = ?, revision = ? WHERE id = ? AND queue IN ('ready', 'held')";
export const MOVED = `UPDATE emails SET scheduled_at = ?, due_at = ?, revision = ?
  WHERE id = ? AND queue IN ('ready', 'held')`;
