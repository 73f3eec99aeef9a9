import type { AcceptedAs } from "../../src/domain/email/events.ts";
import { mailOwnerIdsOf } from "../../src/kernel/liveOrTestOwner.ts";
import { type EpochMs, epochMs } from "../../src/kernel/time.ts";
import { allRows, firstRow, type ReadDatabase } from "../../src/ports/readDatabase.ts";
import {
  allOf,
  type Condition,
  type CreatedRange,
  CURSOR_COLUMNS,
  equals,
  findRows,
  isOneOf,
  type KeysetCursor,
  NEWEST_FIRST,
  newerThan,
  OLDEST_FIRST,
  type PageQuery,
  ROWS_SCANNED_MAX,
  type RowPage,
} from "../keysetPagination.ts";
import { sqlList } from "../sqlListsAndInserts.ts";
import { WAITING_SINCE } from "./mailQueueColumns.ts";
import {
  fingerprintKey,
  IS_RARE,
  RARE_STATUSES,
  REASONED_STATUSES,
  RECIPIENT_KEY,
  RETAINED_SINCE,
  recipientKey,
} from "./tables.ts";

interface AcceptanceRow {
  readonly acceptedAs: AcceptedAs;
  readonly acceptedAt: EpochMs;
}

/** How the message with this id was accepted; null if no request with this fingerprint made it. */
export function findAcceptance(db: ReadDatabase, id: string, fingerprint: string): AcceptanceRow | null {
  const sql = "SELECT accepted_as, created_at FROM emails WHERE id = ? AND fingerprint = ?";
  const row = db.get(sql, id, fingerprintKey(fingerprint));
  if (row === undefined) return null;
  const acceptedAs = row.accepted_as as AcceptedAs;
  return { acceptedAs, acceptedAt: epochMs(String(row.created_at)) };
}

/** Bytes of content of a mail owner's messages as accepted, minus what was erased. */
export function contentBytesOf(db: ReadDatabase, ownerId: string): number {
  return Number(db.get("SELECT bytes FROM content WHERE workspace_id = ?", ownerId)?.bytes ?? 0);
}

/** The content of one mail owner's messages, in bytes as accepted. */
export interface ContentInUse {
  readonly ownerId: string;
  readonly bytes: number;
}

/** The mail owners with the most content; those without any are left out. */
export function contentInUse(db: ReadDatabase, max: number): readonly ContentInUse[] {
  const sql = `SELECT workspace_id AS ownerId, bytes FROM content WHERE bytes > 0
    ORDER BY bytes DESC, workspace_id LIMIT ? + 0`;
  return allRows<ContentInUse>(db, sql, max);
}

/** The filters that compare a column of a message's own row. */
const FILTER_COLUMNS = {
  senderId: "sender_id",
  recipientHash: "recipient_hash",
  templateId: "template_id",
  templateVersionId: "template_version_id",
  apiKeyId: "api_key_id",
} as const;
export type RowFilter = keyof typeof FILTER_COLUMNS;
export const ROW_FILTERS = Object.keys(FILTER_COLUMNS) as readonly RowFilter[];

/** Which messages to list. Times are RFC 3339 in UTC; hashes are the instance's keyed hashes of addresses. */
export interface EmailQuery extends Readonly<Partial<Record<RowFilter, string>>>, CreatedRange, PageQuery {
  /** The mail owner: see `mailOwnerId`. */
  readonly ownerId: string;
  /** One status or several, each once. */
  readonly statuses?: readonly string[];
  /** One reason or several. */
  readonly reasons?: readonly string[];
  /** The keyed hash of a tag. */
  readonly tag?: string;
  /** The keyed hashes of pairs of metadata, which a message has all. */
  readonly metadata?: readonly string[];
  /** Only messages that were not sent again to their recipient, and of such repeats only those that nobody received. */
  readonly isNeverAgain?: true;
}

export interface EmailRow {
  readonly id: string;
  readonly status: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly attempts: number;
  /** The reason that the event which set the status gives; null if it gives none. */
  readonly reason: string | null;
}

/** Messages of one mail owner, newest first. */
export function listEmails(db: ReadDatabase, asked: EmailQuery): RowPage<EmailRow> {
  const query = asked.reasons === undefined ? asked : { ...asked, statuses: reasonedStatuses(asked) };
  const { statuses = [], recipientHash } = query;
  if (query.statuses?.length === 0) return { rows: [], next: null };
  const [rarest, ...others] = rarestFirst(db, marksOf(query));
  if (rarest !== undefined) return listMarked(db, query, rarest, others);
  if (recipientHash !== undefined || !statuses.every((status) => FEW_STATUSES.includes(status)))
    return listByOneIndex(db, query);
  return statuses.length > 1 ? listFew(db, query, statuses) : listOfStatus(db, query, statuses[0]);
}

/** The statuses that give reasons, of those that are asked for. They are rare, so their index finds all reasons. */
function reasonedStatuses({ statuses }: EmailQuery): readonly string[] {
  return REASONED_STATUSES.filter((status) => statuses?.includes(status) ?? true);
}

/** The statuses whose messages are found without looking at many others. */
const FEW_STATUSES: readonly string[] = [...RARE_STATUSES, "queued"];

function listOfStatus(db: ReadDatabase, query: EmailQuery, status?: string): RowPage<EmailRow> {
  if (status !== "queued") return listByOneIndex(db, query);
  const since = queuedSince(db, query.ownerId);
  if (since === null) return { rows: [], next: null };
  const { createdFrom = "" } = query;
  return listByOneIndex(db, createdFrom < since ? { ...query, createdFrom: since } : query);
}

/**
 * A time since when every queued message of the owner was accepted; null if it has none. Held mail has no index by age:
 * while there is any, the answer is "", which is before all times.
 */
function queuedSince(db: ReadDatabase, ownerId: string): string | null {
  if (db.get("SELECT 1 FROM emails INDEXED BY mail_queue_held WHERE held = 1 LIMIT 1")) return "";
  const sql = `SELECT ${WAITING_SINCE} AS since FROM emails INDEXED BY mail_queue_by_age
    WHERE queue = 'ready' AND workspace_id = ? ORDER BY ${WAITING_SINCE} LIMIT 1`;
  return firstRow<{ readonly since: string }>(db, sql, ownerId)?.since ?? null;
}

/** Messages of several such statuses: a page of each, merged as far as all these pages reach. */
function listFew(db: ReadDatabase, query: EmailQuery, statuses: readonly string[]): RowPage<EmailRow> {
  const pages = statuses.map((status) => listOfStatus(db, { ...query, statuses: [status] }, status));
  const numberOf = ({ id }: KeysetCursor) => Number(db.get(NUMBER_BY_ID, id)?.number);
  const newestFirst = (one: KeysetCursor, other: KeysetCursor) => {
    if (one.createdAt === other.createdAt) return numberOf(other) - numberOf(one);
    return one.createdAt < other.createdAt ? 1 : -1;
  };
  const [end = null] = pages.flatMap(({ next }) => next ?? []).sort(newestFirst);
  const merged = pages.flatMap(({ rows }) => rows).sort(newestFirst);
  const known = end === null ? merged : merged.filter((row) => newestFirst(row, end) <= 0);
  const rows = known.slice(0, query.limit);
  const last = rows.at(-1);
  return {
    rows,
    next: last && known.length > rows.length ? { id: last.id, createdAt: last.createdAt } : end,
  };
}

/** Messages found by the index that suits the query best. */
function listByOneIndex(db: ReadDatabase, query: EmailQuery): RowPage<EmailRow> {
  const { ownerId } = query;
  const { index, along } = indexFor(query);
  const wanted = [
    ...equals("workspace_id", index === "emails_by_time" ? undefined : ownerId),
    ...filtersOf(query),
  ];
  return findRows(db, query, {
    ...{ table: "emails", of: "workspace_id", owner: ownerId },
    columns: COLUMNS,
    index,
    along,
    wanted,
  });
}

/** While an attempt is in flight, the row still has the reason of the previous one. */
const REASON = "iif(status = 'sending', NULL, reason) AS reason";
const COLUMNS = `${CURSOR_COLUMNS}, status, updated_at AS updatedAt, attempts, ${REASON}`;
const NUMBER_BY_ID = "SELECT rowid AS number FROM emails WHERE id = ?";
const EMAIL_BY_ID = `SELECT ${COLUMNS} FROM emails WHERE id = ?`;

/** Something that several messages may have: a row for each of them, whose column `of` holds the keyed hash `owner`. */
interface Mark {
  readonly table: string;
  readonly of: string;
  readonly owner: string;
  readonly index: string;
}

const BY_TAG = { table: "email_tags", of: "tag", index: "email_tags_by_time" };
const BY_METADATA = { table: "email_metadata", of: "pair", index: "email_metadata_by_time" };

function marksOf({ tag, metadata = [] }: EmailQuery): readonly Mark[] {
  const tags = tag === undefined ? [] : [{ ...BY_TAG, owner: tag }];
  return [...metadata.map((owner) => ({ ...BY_METADATA, owner })), ...tags];
}

/** First the marks that few messages have, as far as one query looks. */
function rarestFirst(db: ReadDatabase, marks: readonly Mark[]): readonly Mark[] {
  if (marks.length < 2) return marks;
  const counted = marks.map((mark) => ({ mark, count: countMarked(db, mark) }));
  return counted.sort((one, other) => one.count - other.count).map(({ mark }) => mark);
}

/** How many messages have it; counts up to {@link ROWS_SCANNED_MAX}. */
function countMarked(db: ReadDatabase, { table, of, owner, index }: Mark): number {
  const rows = `SELECT 1 FROM ${table} INDEXED BY ${index} WHERE ${of} = ? LIMIT ${ROWS_SCANNED_MAX}`;
  return Number(db.get(`SELECT count(*) AS count FROM (${rows})`, owner)?.count);
}

/** The condition that a row of `emails` has the mark. */
function hasMark({ table, of, owner }: Mark): Condition {
  const sql = `EXISTS (SELECT 1 FROM ${table} AS marked WHERE marked.${of} = ? AND marked.id = emails.id)`;
  return { sql, values: [owner] };
}

/** Messages with all of these marks, found by the first one's index; the other filters look at the messages' own rows. */
function listMarked(
  db: ReadDatabase,
  query: EmailQuery,
  first: Mark,
  others: readonly Mark[],
): RowPage<EmailRow> {
  const ofOwner = equals("workspace_id", query.ownerId);
  const { sql, values } = allOf([...ofOwner, ...filtersOf(query), ...others.map(hasMark)]);
  const { rows, next } = findRows(db, query, {
    ...first,
    columns: CURSOR_COLUMNS,
    along: equals(first.of, first.owner),
    wanted: [{ sql: `EXISTS (SELECT 1 FROM emails WHERE emails.id = ${first.table}.id AND ${sql})`, values }],
  });
  const found = rows.map(({ id }) => firstRow<EmailRow>(db, EMAIL_BY_ID, id));
  return { rows: found.filter((row) => row !== null), next };
}

/** The newest message with a tag, whose content has the tag's spelling; null if there is none. Reads one row. */
export function newestTagged(db: ReadDatabase, tag: string): string | null {
  const sql = `SELECT id FROM email_tags INDEXED BY email_tags_by_time WHERE tag = ? ${NEWEST_FIRST} LIMIT 1`;
  return firstRow<{ readonly id: string }>(db, sql, tag)?.id ?? null;
}

/** Statuses of a repeat that its recipient did not receive. A canceled one is left out: somebody did not want it. */
const NOT_RECEIVED = ["bounced", "failed", "suppressed"];
const NEVER_AGAIN = `(emails.again_of IS NULL OR emails.status IN ${sqlList(NOT_RECEIVED)})
  AND NOT EXISTS (SELECT 1 FROM emails AS again INDEXED BY emails_by_original
    WHERE again.again_of = emails.id AND again.recipient_hash = emails.recipient_hash)`;

function filtersOf(query: EmailQuery): readonly Condition[] {
  const { statuses, reasons, isNeverAgain } = query;
  return [
    ...(isNeverAgain ? [{ sql: NEVER_AGAIN, values: [] }] : []),
    ...(statuses === undefined ? [] : [isOneOf("status", statuses)]),
    ...(reasons === undefined ? [] : [isOneOf("reason", reasons)]),
    ...ROW_FILTERS.flatMap((name) => equals(FILTER_COLUMNS[name], query[name])),
  ];
}

/**
 * The index with the fewest unwanted rows. Without a recipient, several statuses come here only if one of them is common:
 * the index by status lacks those.
 */
function indexFor({ ownerId, statuses, recipientHash }: EmailQuery) {
  if (recipientHash !== undefined) {
    return { index: "emails_by_recipient", along: equals(RECIPIENT_KEY, recipientKey(recipientHash)) };
  }
  const [status = "", ...others] = statuses ?? [];
  if (others.length === 0 && RARE_STATUSES.includes(status)) {
    // `isRare` repeats the index's own condition word for word; otherwise SQLite does not see that the index applies.
    const isRare = { sql: IS_RARE, values: [] };
    return {
      index: "emails_by_rare_status",
      along: [...equals("workspace_id", ownerId), ...equals("status", status), isRare],
    };
  }
  return { index: "emails_by_time", along: equals("workspace_id", ownerId) };
}

/** The mail owners with messages whose content can be erased, and from when the first one's retention counts. */
export function workspacesRetaining(
  db: ReadDatabase,
): readonly { readonly ownerId: string; readonly since: string }[] {
  // Steps from one owner to the next by the index, past all messages in between.
  const sql = `WITH RECURSIVE retaining (workspace) AS (
      SELECT min(workspace_id) FROM emails WHERE is_retained = 1
      UNION ALL
      SELECT (SELECT min(workspace_id) FROM emails WHERE is_retained = 1 AND workspace_id > retaining.workspace)
        FROM retaining WHERE retaining.workspace IS NOT NULL)
    SELECT workspace AS ownerId, (SELECT ${RETAINED_SINCE} FROM emails
        WHERE is_retained = 1 AND workspace_id = workspace ORDER BY ${RETAINED_SINCE} LIMIT 1) AS since
      FROM retaining WHERE workspace IS NOT NULL`;
  return allRows(db, sql);
}

/** A mail owner's ended messages that still have content, and whose retention counts from `before` or earlier. */
export function oldContent(
  db: ReadDatabase,
  ownerId: string,
  before: string,
  limit: number,
): readonly string[] {
  const sql = `SELECT id FROM emails WHERE is_retained = 1 AND workspace_id = ? AND ${RETAINED_SINCE} <= ?
    ORDER BY ${RETAINED_SINCE} LIMIT ? + 0`;
  return db.all(sql, ownerId, before, limit).map((row) => String(row.id));
}

/** Live and test messages to one recipient, oldest first, and where the next page begins; null after the last. */
export function emailsToRecipient(
  db: ReadDatabase,
  { workspaceId, recipientHash }: { readonly workspaceId: string; readonly recipientHash: string },
  after: KeysetCursor | null,
  limit: number,
): { readonly found: readonly KeysetCursor[]; readonly next: KeysetCursor | null } {
  const list = { table: "emails", of: "recipient_hash", owner: recipientHash };
  const page = after && newerThan(list, after);
  const sql = `SELECT ${CURSOR_COLUMNS} FROM emails INDEXED BY emails_by_recipient
    WHERE ${RECIPIENT_KEY} = ? ${page ? `AND ${page.sql}` : ""} AND recipient_hash = ? AND workspace_id IN (?, ?)
    ${OLDEST_FIRST} LIMIT ? + 0`;
  const owners = mailOwnerIdsOf(workspaceId);
  const values = [recipientKey(recipientHash), ...(page?.values ?? []), recipientHash, ...owners];
  const found = allRows<KeysetCursor>(db, sql, ...values, limit);
  return { found, next: found.length < limit ? null : (found.at(-1) ?? null) };
}

/** A mail owner's newest message; null before its first. Reads one row. */
export function newestEmail(
  db: ReadDatabase,
  ownerId: string,
): (KeysetCursor & { readonly status: string }) | null {
  const sql = `SELECT ${CURSOR_COLUMNS}, status FROM emails INDEXED BY emails_by_time
    WHERE workspace_id = ? ${NEWEST_FIRST} LIMIT 1`;
  return firstRow(db, sql, ownerId);
}

/** How many messages accepted in one minute have one status now. */
interface MinuteCount {
  /** RFC 3339 to the minute: `2026-11-22T04:19`. */
  readonly minute: string;
  readonly status: string;
  readonly messages: number;
}

/** Counts messages accepted since a time by minute and current status: the newest `limit` of them. */
export function countsByMinute(
  db: ReadDatabase,
  ownerId: string,
  since: string,
  limit: number,
): readonly MinuteCount[] {
  const sql = `SELECT substr(created_at, 1, 16) AS minute, status, count(*) AS messages FROM
      (SELECT created_at, status FROM emails INDEXED BY emails_by_time WHERE workspace_id = ? AND created_at >= ?
        ${NEWEST_FIRST} LIMIT ? + 0)
    GROUP BY minute, status`;
  return allRows(db, sql, ownerId, since, limit);
}
