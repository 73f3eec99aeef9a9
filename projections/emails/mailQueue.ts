import { mailOwnerOf } from "../../src/kernel/liveOrTestOwner.ts";
import { type EpochMs, epochMs, rfc3339 } from "../../src/kernel/time.ts";
import { allRows, firstRow, type ReadDatabase, type SqlRow } from "../../src/ports/readDatabase.ts";
import { LEASE_COLUMNS, type Lease } from "../lease.ts";
import { WAITING_SINCE } from "./mailQueueColumns.ts";

/** One of the two queues: mail for the relay, or mail that the simulator delivers. */
export type MailLane = "relay" | "simulator";

function isSimulated(lane: MailLane): 0 | 1 {
  return lane === "simulator" ? 1 : 0;
}

/** A place in an index by time. Messages due at the same time are in log order. */
export interface QueueCursor {
  readonly dueAt: EpochMs;
  readonly row: number;
}

/** A message that can be claimed, as far as this read model knows. `revision` is that of the event that made it so. */
export interface DueEmail {
  readonly id: string;
  readonly workspaceId: string;
  readonly senderId: string;
  /** The sender that authorizes it: `senderId`, or the sender of its domain. */
  readonly authorityId: string;
  /** Claims so far. */
  readonly attempts: number;
  readonly revision: number;
  /** Whether its files or its content must be read from the content store. */
  readonly needsContentStore: boolean;
}

const DUE_COLUMNS = "id, workspace_id, sender_id, authority_id, attempts, revision, needs_content_store";

function dueEmail(row: SqlRow): DueEmail {
  return {
    id: String(row.id),
    workspaceId: mailOwnerOf(String(row.workspace_id)).workspaceId,
    senderId: String(row.sender_id),
    authorityId: String(row.authority_id),
    attempts: Number(row.attempts),
    revision: Number(row.revision),
    needsContentStore: row.needs_content_store === 1,
  };
}

/** Whether more than `count` messages are ready. Reads one row more than that. */
export function hasMoreReadyThan(db: ReadDatabase, lane: MailLane, now: EpochMs, count: number): boolean {
  const sql =
    "SELECT 1 AS found FROM emails WHERE queue = 'ready' AND simulated = ? AND due_at <= ? LIMIT 1 OFFSET ?";
  return db.get(sql, isSimulated(lane), now, count) !== undefined;
}

/** The messages that have been ready longest. Reads `limit` rows. */
export function readyEmails(
  db: ReadDatabase,
  lane: MailLane,
  now: EpochMs,
  limit: number,
): readonly DueEmail[] {
  const sql = `SELECT ${DUE_COLUMNS} FROM emails
    WHERE queue = 'ready' AND simulated = ? AND due_at <= ? ORDER BY due_at LIMIT ? + 0`;
  return db.all(sql, isSimulated(lane), now, limit).map(dueEmail);
}

/** The first mail owner after `after`, by id, with a message ready or deferred; null after the last. Reads one row. */
export function nextWaitingOwner(db: ReadDatabase, lane: MailLane, after: string): string | null {
  const sql = `SELECT workspace_id AS ownerId FROM emails INDEXED BY mail_queue_by_sender
    WHERE queue = 'ready' AND simulated = ? AND workspace_id > ? ORDER BY workspace_id LIMIT 1`;
  return firstRow<{ readonly ownerId: string }>(db, sql, isSimulated(lane), after)?.ownerId ?? null;
}

/** Identifies one queue of an owner, whose messages wait behind one another. */
export interface MailQueueKey {
  readonly authorityId: string;
  readonly senderId: string;
  readonly needsContentStore: 0 | 1;
}

/** Before every queue of an owner. */
export const FIRST_SENDER: MailQueueKey = { authorityId: "", senderId: "", needsContentStore: 0 };

/** Sorts after every id, because ids are hexadecimal. */
export const BEHIND_ALL_IDS = "~";

/** The waiting messages of one sender that do or do not need the content store, and when the first of them is due. */
export interface SenderQueue extends MailQueueKey {
  readonly lane: MailLane;
  readonly ownerId: string;
  readonly dueAt: EpochMs;
}

/** An owner's first queue after `after`; null after the last. Reads one row. */
export function nextSenderQueue(
  db: ReadDatabase,
  lane: MailLane,
  ownerId: string,
  after: MailQueueKey,
): SenderQueue | null {
  const sql = `SELECT authority_id AS authorityId, sender_id AS senderId,
      needs_content_store AS needsContentStore, due_at AS dueAt
    FROM emails INDEXED BY mail_queue_by_sender
    WHERE queue = 'ready' AND simulated = ? AND workspace_id = ?
      AND (authority_id, sender_id, needs_content_store, due_at) > (?, ?, ?, ?)
    ORDER BY authority_id, sender_id, needs_content_store, due_at LIMIT 1`;
  // Includes a time later than any: without it SQLite would step through the whole previous queue.
  const { authorityId, senderId, needsContentStore } = after;
  const values = [ownerId, authorityId, senderId, needsContentStore, Number.MAX_SAFE_INTEGER] as const;
  const queue = firstRow<Omit<SenderQueue, "lane" | "ownerId">>(db, sql, isSimulated(lane), ...values);
  return queue && { lane, ownerId, ...queue };
}

/** The condition that a message is of one queue, in the order of {@link valuesOf}. */
const OF_QUEUE = `queue = 'ready' AND simulated = ? AND workspace_id = ? AND authority_id = ? AND sender_id = ?
  AND needs_content_store = ?`;

function valuesOf({ lane, ownerId, authorityId, senderId, needsContentStore }: SenderQueue) {
  return [isSimulated(lane), ownerId, authorityId, senderId, needsContentStore] as const;
}

/** A message of a queue, and its place in it. */
export interface QueuedEmail extends DueEmail, QueueCursor {}

/** The messages of a queue that have been ready longest, after `after` if given. Reads `limit` rows. */
export function readyEmailsOf(
  db: ReadDatabase,
  queue: SenderQueue,
  page: { readonly now: EpochMs; readonly after: QueueCursor | null; readonly limit: number },
): readonly QueuedEmail[] {
  const { dueAt, row } = page.after ?? { dueAt: Number.MIN_SAFE_INTEGER, row: 0 };
  const sql = `SELECT rowid, ${DUE_COLUMNS}, due_at
    FROM emails INDEXED BY mail_queue_by_sender
    WHERE ${OF_QUEUE} AND due_at <= ? AND (due_at, rowid) > (?, ?) ORDER BY due_at, rowid LIMIT ? + 0`;
  return db
    .all(sql, ...valuesOf(queue), page.now, dueAt, row, page.limit)
    .map((found) => ({ ...dueEmail(found), dueAt: Number(found.due_at), row: Number(found.rowid) }));
}

/** A mail owner, and since when its oldest waiting message waits. */
export interface WaitingOwner {
  readonly ownerId: string;
  readonly acceptedAt: EpochMs;
}

/** The first mail owner after `after`, by id, with a message ready or deferred; null after the last. Reads one row. */
export function nextOwnerByAge(db: ReadDatabase, after: string): WaitingOwner | null {
  const sql = `SELECT workspace_id, ${WAITING_SINCE} AS since FROM emails INDEXED BY mail_queue_by_age
    WHERE queue = 'ready' AND workspace_id > ? ORDER BY workspace_id, ${WAITING_SINCE} LIMIT 1`;
  const row = db.get(sql, after);
  if (row === undefined) return null;
  return { ownerId: String(row.workspace_id), acceptedAt: epochMs(String(row.since)) };
}

/** A mail owner's oldest messages waiting since `acceptedBefore` or earlier, due or not. Reads `limit` rows. */
export function agedEmailsOf(
  db: ReadDatabase,
  ownerId: string,
  acceptedBefore: EpochMs,
  limit: number,
): readonly DueEmail[] {
  const sql = `SELECT ${DUE_COLUMNS} FROM emails INDEXED BY mail_queue_by_age
    WHERE queue = 'ready' AND workspace_id = ? AND ${WAITING_SINCE} <= ? ORDER BY ${WAITING_SINCE} LIMIT ? + 0`;
  return db.all(sql, ownerId, rfc3339(acceptedBefore), limit).map(dueEmail);
}

/** Waiting messages whose deadline has passed at `now`, the longest past first. Reads `limit` rows. */
export function overdueEmails(db: ReadDatabase, now: EpochMs, limit: number): readonly DueEmail[] {
  const sql = `SELECT ${DUE_COLUMNS} FROM emails INDEXED BY mail_queue_by_deadline
    WHERE queue = 'ready' AND deliver_before <= ? ORDER BY deliver_before LIMIT ? + 0`;
  return db.all(sql, now, limit).map(dueEmail);
}

/** A message for immediate delivery, accepted by a clock that was ahead of ours. */
export interface ClockSkewedEmail extends DueEmail {
  readonly lane: MailLane;
}

/** How many messages a search for clock-skewed ones scans. */
const CLOCK_SKEWED_SCANNED_MAX = 10_000;

/**
 * A mail owner's messages for immediate delivery with a time after `now`, newest first: most messages of a clock that
 * was ahead are sent by now, and those that still wait came last. Scans at most {@link CLOCK_SKEWED_SCANNED_MAX} rows, and
 * none if there are no such times.
 */
export function clockSkewedEmailsOf(
  db: ReadDatabase,
  ownerId: string,
  now: EpochMs,
  limit: number,
): readonly ClockSkewedEmail[] {
  const sql = `SELECT * FROM (SELECT ${DUE_COLUMNS}, simulated, queue, status
    FROM emails INDEXED BY emails_by_time WHERE workspace_id = ? AND created_at > ?
    ORDER BY created_at DESC LIMIT ${CLOCK_SKEWED_SCANNED_MAX}) WHERE queue = 'ready' AND status = 'queued' LIMIT ? + 0`;
  return db
    .all(sql, ownerId, rfc3339(now), limit)
    .map((row) => ({ ...dueEmail(row), lane: row.simulated === 1 ? "simulator" : "relay" }));
}

/**
 * Deferred messages among those due after `after`, in order of due time, and where the next page begins; null after the
 * last. Reads `limit` rows.
 */
export function deferredAfter(db: ReadDatabase, lane: MailLane, after: QueueCursor, limit: number) {
  const sql = `SELECT rowid AS place, ${DUE_COLUMNS}, due_at, status
    FROM emails INDEXED BY mail_queue_ready WHERE queue = 'ready' AND simulated = ? AND (due_at, rowid) > (?, ?)
    ORDER BY due_at, rowid LIMIT ? + 0`;
  const rows = db.all(sql, isSimulated(lane), after.dueAt, after.row, limit);
  const last = rows.length < limit ? undefined : rows.at(-1);
  return {
    deferred: rows.filter(({ status }) => status === "deferred").map((row) => ({ ...dueEmail(row), lane })),
    next: last === undefined ? null : { dueAt: Number(last.due_at), row: Number(last.place) },
  };
}

/** When the next message becomes due after `now`; null when none waits. */
export function nextReadyAt(db: ReadDatabase, lane: MailLane, now: EpochMs): EpochMs | null {
  const sql = "SELECT min(due_at) AS at FROM emails WHERE queue = 'ready' AND simulated = ? AND due_at > ?";
  return firstRow<{ readonly at: EpochMs | null }>(db, sql, isSimulated(lane), now)?.at ?? null;
}

/** How many messages the relay has put off, or could not be given, counted up to `max`. */
export function countDeferred(db: ReadDatabase, max: number): number {
  const sql =
    "SELECT count(*) AS deferred FROM (SELECT 1 FROM emails WHERE status = 'deferred' AND simulated = 0 LIMIT ? + 0)";
  return Number(db.get(sql, max)?.deferred);
}

export interface DueOfSender {
  readonly ownerId: string;
  readonly authorityId: string;
  readonly senderId: string;
  readonly due: number;
  /** Since when the first of them is due. */
  readonly dueAt: EpochMs;
}

/** The messages that have been due longest at `now`, counted by sender. Reads `limit` rows. */
export function dueBySender(
  db: ReadDatabase,
  lane: MailLane,
  now: EpochMs,
  limit: number,
): readonly DueOfSender[] {
  const sql = `SELECT workspace_id AS ownerId, authority_id AS authorityId, sender_id AS senderId, count(*) AS due,
      min(due_at) AS dueAt
    FROM (SELECT workspace_id, authority_id, sender_id, due_at FROM emails INDEXED BY mail_queue_ready
      WHERE queue = 'ready' AND simulated = ? AND due_at <= ? ORDER BY due_at LIMIT ? + 0)
    GROUP BY workspace_id, authority_id, sender_id`;
  return allRows(db, sql, isSimulated(lane), now, limit);
}

/** How many messages of a queue are due at `now`, counted up to `max`. */
export function countReadyOf(db: ReadDatabase, queue: SenderQueue, now: EpochMs, max: number): number {
  const sql = `SELECT count(*) AS due FROM (SELECT 1 FROM emails INDEXED BY mail_queue_by_sender
    WHERE ${OF_QUEUE} AND due_at <= ? LIMIT ? + 0)`;
  return Number(db.get(sql, ...valuesOf(queue), now, max)?.due);
}

/** The open claims of all instances: about as many as there are connections, unless workers have crashed. */
export function leasedEmails(db: ReadDatabase, limit: number): readonly Lease[] {
  const sql = `SELECT ${LEASE_COLUMNS}, attempts AS attempt FROM emails WHERE queue = 'leased' LIMIT ? + 0`;
  return allRows(db, sql, limit);
}

/** A waiting message, its workspace, and its place among those that wait. */
interface WaitingEmail extends QueueCursor {
  readonly id: string;
  readonly workspaceId: string;
}

/**
 * A page of the messages due after `after`, deferred or held, in order of due time. Reads `limit` rows of each kind and
 * queue, and those that were claimed when the log was restored.
 */
export function waitingEmails(db: ReadDatabase, after: QueueCursor, limit: number): readonly WaitingEmail[] {
  const page = (where: string) => `SELECT * FROM (SELECT rowid AS place, id, workspace_id, due_at FROM emails
    WHERE ${where} AND (due_at, rowid) > (?1, ?2) ORDER BY due_at, rowid LIMIT ?3 + 0)`;
  const sql = `${page("queue = 'ready' AND simulated = 0")} UNION ALL ${page("queue = 'ready' AND simulated = 1")}
    UNION ALL ${page("held = 1 AND queue = 'held'")}
    ORDER BY due_at, place LIMIT ?3 + 0`;
  return db.all(sql, after.dueAt, after.row, limit).map((row) => ({
    dueAt: Number(row.due_at),
    row: Number(row.place),
    id: String(row.id),
    workspaceId: mailOwnerOf(String(row.workspace_id)).workspaceId,
  }));
}

/** The place after every message that is due at `now`. */
export function allDueAt(now: EpochMs): QueueCursor {
  return { dueAt: now, row: Number.MAX_SAFE_INTEGER };
}

/**
 * The message of a mail owner that has waited longest; null if none waits. Messages scheduled for later than `now` do
 * not wait yet. Reads one row.
 */
export function oldestWaiting(
  db: ReadDatabase,
  ownerId: string,
  now: EpochMs,
): { readonly id: string; readonly since: EpochMs } | null {
  const sql = `SELECT id, ${WAITING_SINCE} AS since FROM emails INDEXED BY mail_queue_by_age
    WHERE queue = 'ready' AND workspace_id = ? AND ${WAITING_SINCE} <= ? ORDER BY ${WAITING_SINCE} LIMIT 1`;
  const row = db.get(sql, ownerId, rfc3339(now));
  return row === undefined ? null : { id: String(row.id), since: epochMs(String(row.since)) };
}

/** How many messages of a mail owner wait, due or not, counted up to `limit`. */
export function countWaiting(db: ReadDatabase, ownerId: string, now: EpochMs, limit: number): number {
  const sql = `SELECT count(*) AS waiting FROM (SELECT 1 FROM emails INDEXED BY mail_queue_by_age
    WHERE queue = 'ready' AND workspace_id = ? AND ${WAITING_SINCE} <= ? LIMIT ? + 0)`;
  return Number(db.get(sql, ownerId, rfc3339(now), limit)?.waiting ?? 0);
}

/** How many messages of a mail owner are scheduled for later than `now`, counted up to `limit`. */
export function countScheduled(db: ReadDatabase, ownerId: string, now: EpochMs, limit: number): number {
  const sql = `SELECT count(*) AS scheduled FROM (SELECT 1 FROM emails INDEXED BY mail_queue_by_age
    WHERE queue = 'ready' AND workspace_id = ? AND ${WAITING_SINCE} > ? LIMIT ? + 0)`;
  return Number(db.get(sql, ownerId, rfc3339(now), limit)?.scheduled ?? 0);
}
