import { DAY_MS, epochMs, HOUR_MS, rfc3339 } from "../src/kernel/time.ts";
import type { ProjectedRows, ReadDatabase, SqlRow, SqlValue } from "../src/ports/readDatabase.ts";
import { ROWS_LOOKED_AT_MAX } from "./keysetList.ts";
import type { ProjectionTable } from "./projection.ts";

/** How a message can end; what it was accepted as counts beside. */
export const ENDINGS = ["sent", "bounced", "failed", "suppressed", "canceled"] as const;
export type Ending = (typeof ENDINGS)[number];

/** What may become known of a message after its delivery has ended, beside a bounce. */
export const TOLD_LATER = ["delivered", "complained"] as const;
/** What is told of a message later: it counts then, beside how the delivery ended. */
export type Told = "bounced" | (typeof TOLD_LATER)[number];

/** The statuses after which no delivery goes on, for use in SQL. */
export const ENDED = `(${[...ENDINGS, ...TOLD_LATER].map((ending) => `'${ending}'`).join(", ")})`;

const COUNTS = ["accepted", ...ENDINGS, ...TOLD_LATER] as const;

/** Stands for "none" in a key, which holds no nulls. No template has this id, and no domain is called so. */
const NONE = "";

/**
 * The tables of usage stand beside the messages' rows, which know whether a message has ended, whose it was and by
 * which template. Days and hours are of UTC. An acceptance counts in its hour, an ending in the hour that it was
 * recorded in: a row never changes for what happens in another hour, so rows of any range add up.
 */
export const usageTables: readonly ProjectionTable[] = [
  {
    name: "usage",
    columns: `workspace_id TEXT NOT NULL, day TEXT NOT NULL, hour INTEGER NOT NULL, sender_id TEXT NOT NULL,
      template_id TEXT NOT NULL, ${COUNTS.map((name) => `${name} INTEGER NOT NULL DEFAULT 0`).join(", ")},
      PRIMARY KEY (workspace_id, day, hour, sender_id, template_id)`,
    key: ["workspace_id", "day", "hour", "sender_id", "template_id"],
  },
  {
    // What the rows of an hour add up to: a workspace with many senders and templates has many of those.
    name: "usage_totals",
    columns: `workspace_id TEXT NOT NULL, day TEXT NOT NULL, hour INTEGER NOT NULL,
      ${COUNTS.map((name) => `${name} INTEGER NOT NULL DEFAULT 0`).join(", ")},
      PRIMARY KEY (workspace_id, day, hour)`,
    key: ["workspace_id", "day", "hour"],
  },
  {
    // By the keyed hash of a tag. A message with several counts in each of them.
    name: "usage_tags",
    columns: `workspace_id TEXT NOT NULL, day TEXT NOT NULL, hour INTEGER NOT NULL, tag TEXT NOT NULL,
      ${COUNTS.map((name) => `${name} INTEGER NOT NULL DEFAULT 0`).join(", ")},
      PRIMARY KEY (workspace_id, day, hour, tag)`,
    key: ["workspace_id", "day", "hour", "tag"],
  },
  {
    name: "bounces",
    columns: `workspace_id TEXT NOT NULL, day TEXT NOT NULL, hour INTEGER NOT NULL, domain TEXT NOT NULL,
      bounced INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (workspace_id, day, hour, domain)`,
    key: ["workspace_id", "day", "hour", "domain"],
  },
];

/** A statement that adds counts to a row: its key first, then an amount for each count. */
function addTo(table: string, key: readonly string[], counts: readonly string[]): string {
  const columns = [...key, ...counts];
  return `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})
    ON CONFLICT DO UPDATE SET ${counts.map((count) => `${count} = ${count} + excluded.${count}`).join(", ")}`;
}

const HOUR_KEY = ["workspace_id", "day", "hour"];
const COUNT = addTo("usage", [...HOUR_KEY, "sender_id", "template_id"], COUNTS);
const COUNT_IN_ALL = addTo("usage_totals", HOUR_KEY, COUNTS);
const COUNT_TAG = addTo("usage_tags", [...HOUR_KEY, "tag"], COUNTS);
const COUNT_BOUNCE = addTo("bounces", [...HOUR_KEY, "domain"], ["bounced"]);

const ACCEPTED = amountsOf("accepted");
const ACCEPTED_SUPPRESSED = amountsOf("accepted", "suppressed");
const ENDED_AS = Object.fromEntries(
  [...ENDINGS, ...TOLD_LATER].map((ending) => [ending, amountsOf(ending)]),
) as Record<Ending | Told, readonly number[]>;

/** One of each of these counts, none of the others. */
function amountsOf(...counted: readonly (typeof COUNTS)[number][]): readonly number[] {
  return COUNTS.map((name) => (counted.includes(name) ? 1 : 0));
}

/** The day of an RFC 3339 time in UTC. */
export function utcDay(time: string): string {
  return time.slice(0, "yyyy-mm-dd".length);
}

function utcHour(time: string): number {
  return Number(time.slice("yyyy-mm-ddT".length, "yyyy-mm-ddThh".length));
}

/** Whose message it is, and by which template it was made. */
export interface CountedMessage {
  readonly workspaceId: string;
  readonly senderId: string;
  readonly templateId: string | null;
  /** The keyed hashes of its tags. */
  readonly tags: readonly string[];
}

function count(db: ProjectedRows, message: CountedMessage, at: string, amounts: readonly number[]): void {
  const { workspaceId, senderId, templateId, tags } = message;
  const day = utcDay(at);
  const hour = utcHour(at);
  db.add(COUNT, [workspaceId, day, hour, senderId, templateId ?? NONE], amounts);
  db.add(COUNT_IN_ALL, [workspaceId, day, hour], amounts);
  for (const tag of tags) db.add(COUNT_TAG, [workspaceId, day, hour, tag], amounts);
}

/** Counts a message that was accepted at `at`; one whose recipient was suppressed ended with its acceptance. */
export function countAccepted(
  db: ProjectedRows,
  message: CountedMessage,
  at: string,
  isSuppressed: boolean,
): void {
  count(db, message, at, isSuppressed ? ACCEPTED_SUPPRESSED : ACCEPTED);
}

/** Counts the end of a message's delivery, which has one, or what was told of it later. */
export function countEnded(
  db: ProjectedRows,
  message: CountedMessage,
  at: string,
  ending: Ending | Told,
): void {
  count(db, message, at, ENDED_AS[ending]);
}

/** Counts a bounce at a domain, beside {@link countEnded}; undefined: which one is not known. */
export function countBounced(
  db: ProjectedRows,
  { workspaceId }: CountedMessage,
  at: string,
  domain: string | undefined,
): void {
  db.add(COUNT_BOUNCE, [workspaceId, utcDay(at), utcHour(at), domain ?? NONE], [1]);
}

/** How many messages the workspace was given on the UTC day of `at` (RFC 3339), suppressed ones as well. */
export function emailsOfDay(db: ReadDatabase, workspaceId: string, at: string): number {
  const sql = "SELECT sum(accepted) AS accepted FROM usage_totals WHERE workspace_id = ? AND day = ?";
  return Number(db.get(sql, workspaceId, utcDay(at))?.accepted ?? 0);
}

/** Which buckets to answer: those that begin in the range. Times are RFC 3339 in UTC, on the hour. */
export interface UsageRange {
  readonly workspaceId: string;
  readonly from: string;
  readonly before: string;
  readonly by: "hour" | "day";
  /** The last row of the page before. */
  readonly after?: UsagePlace;
  readonly limit: number;
}

/** Which counts to answer. */
export interface UsageQuery extends UsageRange {
  readonly senderId?: string;
  readonly templateId?: string;
  /** The keyed hash of a tag: goes with no other filter or group. */
  readonly tag?: string;
  /** One row of a bucket for each sender, template or tag; else one for all. */
  readonly groupBy?: "sender" | "template" | "tag";
}

/** Where a row stands. `group` is the sender, the template or the domain; "" for none, or where nothing is grouped. */
export interface UsagePlace {
  /** When the bucket begins. */
  readonly start: string;
  readonly group: string;
}

/** What became of messages in one hour or day. */
export interface UsageRow extends UsagePlace, Readonly<Record<(typeof COUNTS)[number], number>> {}

/** One page, and where the next one begins: null when nothing comes after. */
export interface UsagePage<Row> {
  readonly rows: readonly Row[];
  readonly next: UsagePlace | null;
}

/** What is done in steps, between which others have their turn: each makes one query. */
export type InSteps<Result> = Generator<void, Result, void>;

/** A table of counts by hour, and which of its rows are wanted by which name. */
interface Source {
  readonly table: string;
  /** What stands behind day and hour in its key. */
  readonly key: readonly string[];
  readonly counts: readonly string[];
  readonly group: (row: SqlRow) => string;
  readonly isWanted: (row: SqlRow) => boolean;
}

/** Counts of one hour or day, by their groups. */
interface Bucket {
  readonly start: string;
  readonly groups: LeastGroups;
}

/** The counts of one bucket and group, in the order of the source's `counts`. */
interface Counted extends UsagePlace {
  readonly counts: readonly number[];
}

/** Rows that a page looks at, before it ends with the bucket that it is in. */
const PAGE_ROWS_LOOKED_AT_MAX = 10 * ROWS_LOOKED_AT_MAX;
/** Comes after the names of all groups, which are ASCII. */
const BEHIND_ALL_GROUPS = "~";

/** Counts by bucket and group, newest first and of one bucket in the groups' order. */
function* countedRows(db: ReadDatabase, source: Source, range: UsageRange): InSteps<UsagePage<Counted>> {
  const counting = new PageCount(source, range);
  let rows: readonly SqlRow[] = [];
  do {
    rows = rowsBelow(db, source, range, rows.at(-1));
    for (const row of rows) {
      const page = counting.take(row);
      if (page !== null) return page;
    }
    yield;
  } while (rows.length === ROWS_LOOKED_AT_MAX);
  return counting.end();
}

/**
 * Counts the rows of a page, bucket by bucket. A bucket is always told whole, so a page goes on to the end of the one
 * that it is in; else it looks at a bounded number of rows.
 */
class PageCount {
  readonly #found: Counted[] = [];
  #bucket: Bucket | null = null;
  #looked = 0;

  constructor(
    private readonly source: Source,
    private readonly range: UsageRange,
  ) {}

  /** The page, when it ends before this row. */
  take(row: SqlRow): UsagePage<Counted> | null {
    const start = startOf(row, this.range.by);
    if (this.#bucket !== null && this.#bucket.start !== start) {
      const page = this.#endedWith(this.#bucket);
      if (page !== null) return page;
      this.#bucket = null;
    }
    this.#bucket ??= { start, groups: this.#groupsOf(start) };
    if (this.source.isWanted(row)) this.#bucket.groups.count(this.source, row);
    this.#looked += 1;
    return null;
  }

  /** The page, when there are no rows any more. */
  end(): UsagePage<Counted> {
    if (this.#bucket) this.#found.push(...countedIn(this.#bucket));
    return pageOf(this.#found, this.range.limit);
  }

  /** Of the bucket that the page before ended in, those behind its last group; one more than the page shows. */
  #groupsOf(start: string): LeastGroups {
    const { after, limit } = this.range;
    return new LeastGroups(after?.start === start ? after.group : null, limit + 1);
  }

  #endedWith(bucket: Bucket): UsagePage<Counted> | null {
    const found = this.#found;
    found.push(...countedIn(bucket));
    if (found.length > this.range.limit) return pageOf(found, this.range.limit);
    if (this.#looked < PAGE_ROWS_LOOKED_AT_MAX) return null;
    return { rows: found, next: { start: bucket.start, group: BEHIND_ALL_GROUPS } };
  }
}

function pageOf(found: readonly Counted[], limit: number): UsagePage<Counted> {
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  return { rows, next: found.length > limit && last ? { start: last.start, group: last.group } : null };
}

/**
 * The counts of those groups of a bucket that come first by their names. However many groups a bucket has, no more of
 * them are in memory, or sorted at once, than a page or two shows: what comes behind those never comes to the front.
 */
class LeastGroups {
  readonly #counts = new Map<string, number[]>();
  #last: string | null = null;

  constructor(
    private readonly after: string | null,
    private readonly wanted: number,
  ) {}

  count({ counts, group }: Source, row: SqlRow): void {
    const name = group(row);
    if (this.after !== null && name <= this.after) return;
    if (this.#last !== null && name > this.#last) return;
    const before = this.#counts.get(name);
    this.#counts.set(
      name,
      counts.map((column, index) => Number(row[column]) + (before?.[index] ?? 0)),
    );
    if (this.#counts.size >= 2 * this.wanted) this.#cut();
  }

  /** In the order of their names. */
  all(): readonly (readonly [string, readonly number[]])[] {
    return this.#sorted().slice(0, this.wanted);
  }

  #cut(): void {
    const sorted = this.#sorted();
    for (const [name] of sorted.slice(this.wanted)) this.#counts.delete(name);
    this.#last = sorted[this.wanted - 1]?.[0] ?? null;
  }

  #sorted() {
    return [...this.#counts].sort(([one], [other]) => (one < other ? -1 : 1));
  }
}

function countedIn({ start, groups }: Bucket): readonly Counted[] {
  return groups.all().map(([group, counts]) => ({ start, group, counts }));
}

/** The next rows of the range, going back in time from a row, or from where the page begins. */
function rowsBelow(
  db: ReadDatabase,
  { table, key, counts }: Source,
  range: UsageRange,
  last: SqlRow | undefined,
): readonly SqlRow[] {
  const columns = ["day", "hour", ...key];
  const end = endOf(range);
  const below = last
    ? columns.map((column) => last[column] as SqlValue)
    : [utcDay(end), utcHour(end), ...key.map(() => NONE)];
  const sql = `SELECT ${[...columns, ...counts].join(", ")} FROM ${table}
    WHERE workspace_id = ? AND (day, hour) >= (?, ?) AND (${columns.join(", ")}) < (${columns.map(() => "?").join(", ")})
    ORDER BY ${columns.map((column) => `${column} DESC`).join(", ")} LIMIT ${ROWS_LOOKED_AT_MAX}`;
  return db.all(sql, range.workspaceId, utcDay(range.from), utcHour(range.from), ...below);
}

const BUCKET_MS = { hour: HOUR_MS, day: DAY_MS };

/** Where a page ends: with the range, or with the bucket that the page before ended in. */
function endOf({ before, by, after }: UsageRange): string {
  if (after === undefined) return before;
  const end = rfc3339(epochMs(after.start) + BUCKET_MS[by]);
  return end < before ? end : before;
}

function startOf({ day, hour }: SqlRow, by: UsageRange["by"]): string {
  return `${day}T${String(by === "hour" ? hour : 0).padStart(2, "0")}:00:00.000Z`;
}

const GROUPS = { sender: "sender_id", template: "template_id" } as const;

/** Counts by hour or day, newest first. Buckets and groups in which nothing happened are left out. */
export function* listUsage(db: ReadDatabase, query: UsageQuery): InSteps<UsagePage<UsageRow>> {
  const { senderId, templateId, tag, groupBy } = query;
  if (tag !== undefined || groupBy === "tag") return yield* usageByTag(db, query);
  const isOfAll = senderId === undefined && templateId === undefined && groupBy === undefined;
  const source: Source = {
    table: isOfAll ? "usage_totals" : "usage",
    key: isOfAll ? [] : ["sender_id", "template_id"],
    counts: COUNTS,
    group: (row) => (groupBy === undefined ? NONE : String(row[GROUPS[groupBy]])),
    isWanted: (row) =>
      (senderId === undefined || row.sender_id === senderId) &&
      (templateId === undefined || row.template_id === templateId),
  };
  const { rows, next } = yield* countedRows(db, source, query);
  return { rows: rows.map(usageRow), next };
}

function* usageByTag(db: ReadDatabase, query: UsageQuery): InSteps<UsagePage<UsageRow>> {
  const { tag, groupBy } = query;
  const source: Source = {
    table: "usage_tags",
    key: ["tag"],
    counts: COUNTS,
    group: (row) => (groupBy === "tag" ? String(row.tag) : NONE),
    isWanted: (row) => tag === undefined || row.tag === tag,
  };
  const { rows, next } = yield* countedRows(db, source, query);
  return { rows: rows.map(usageRow), next };
}

function usageRow({ start, group, counts }: Counted): UsageRow {
  const numbers = Object.fromEntries(COUNTS.map((name, index) => [name, counts[index] ?? 0]));
  return { start, group, ...(numbers as Record<(typeof COUNTS)[number], number>) };
}

/** Which bounces to answer. */
export interface BouncesQuery extends UsageRange {
  readonly domain?: string;
}

/** How many messages bounced at a domain (`group`; "": it is not known) in one hour or day. */
export interface BouncesRow extends UsagePlace {
  readonly bounced: number;
}

/** Bounces by domain and hour or day, newest first. */
export function* listBounces(db: ReadDatabase, query: BouncesQuery): InSteps<UsagePage<BouncesRow>> {
  const { domain } = query;
  const source: Source = {
    table: "bounces",
    key: ["domain"],
    counts: ["bounced"],
    group: (row) => String(row.domain),
    isWanted: (row) => domain === undefined || row.domain === domain,
  };
  const { rows, next } = yield* countedRows(db, source, query);
  return { rows: rows.map(({ start, group, counts: [bounced = 0] }) => ({ start, group, bounced })), next };
}

/** What a workspace's messages have come to in the hour of `at` (RFC 3339). One row. */
export function totalsOfHour(
  db: ReadDatabase,
  workspaceId: string,
  at: string,
): Readonly<Record<(typeof COUNTS)[number], number>> {
  const sql = `SELECT ${COUNTS.join(", ")} FROM usage_totals WHERE workspace_id = ? AND day = ? AND hour = ?`;
  const row = db.get(sql, workspaceId, utcDay(at), utcHour(at));
  return Object.fromEntries(COUNTS.map((name) => [name, Number(row?.[name] ?? 0)])) as Record<
    (typeof COUNTS)[number],
    number
  >;
}
