import { utcDay } from "../../../src/kernel/time.ts";
import { firstRow, type ReadDatabase } from "../../../src/ports/readDatabase.ts";
import { COUNTS, type Counts, NONE } from "./tables.ts";
import {
  type CountSource,
  type SteppedRead,
  type UsageCursor,
  type UsagePage,
  type UsageRange,
  usageBuckets,
} from "./usageBuckets.ts";
import { utcHour } from "./utcHour.ts";

/** Which counts to return. */
export interface UsageQuery extends UsageRange {
  readonly senderId?: string;
  readonly templateId?: string;
  /** The keyed hash of a tag. It excludes the other filters and groups. */
  readonly tag?: string;
  /** One row per bucket and sender, template or tag; without it one row per bucket. */
  readonly groupBy?: "sender" | "template" | "tag";
}

/** The counts of one hour or day. */
export interface UsageRow extends UsageCursor, Counts {}

const GROUPS = { sender: "sender_id", template: "template_id" } as const;

/** Counts by hour or day, newest first, without buckets and groups in which nothing happened. */
export function* listUsage(db: ReadDatabase, query: UsageQuery): SteppedRead<UsagePage<UsageRow>> {
  const { senderId, templateId, tag, groupBy } = query;
  if (tag !== undefined || groupBy === "tag") return yield* usageByTag(db, query);
  const isOfAll = senderId === undefined && templateId === undefined && groupBy === undefined;
  return yield* countsIn<UsageRow>(db, query, {
    table: isOfAll ? "usage_totals" : "usage",
    key: isOfAll ? [] : ["sender_id", "template_id"],
    counts: COUNTS,
    group: (row) => (groupBy === undefined ? NONE : String(row[GROUPS[groupBy]])),
    isWanted: (row) =>
      (senderId === undefined || row.sender_id === senderId) &&
      (templateId === undefined || row.template_id === templateId),
  });
}

function* usageByTag(db: ReadDatabase, query: UsageQuery): SteppedRead<UsagePage<UsageRow>> {
  const { tag, groupBy } = query;
  return yield* countsIn<UsageRow>(db, query, {
    table: "usage_tags",
    key: ["tag"],
    counts: COUNTS,
    group: (row) => (groupBy === "tag" ? String(row.tag) : NONE),
    isWanted: (row) => tag === undefined || row.tag === tag,
  });
}

/** The counts of a source by bucket, each under its own name. */
function* countsIn<Row>(
  db: ReadDatabase,
  query: UsageRange,
  source: CountSource,
): SteppedRead<UsagePage<Row>> {
  const { rows, next } = yield* usageBuckets(db, source, query);
  const named = rows.map(({ start, group, counts }) => {
    const numbers = Object.fromEntries(source.counts.map((name, index) => [name, counts[index] ?? 0]));
    return { start, group, ...numbers } as Row;
  });
  return { rows: named, next };
}

export interface BouncesQuery extends UsageRange {
  readonly domain?: string;
}

/** How many messages bounced at a domain (`group`, "" if unknown) in one hour or day. */
export interface BouncesRow extends UsageCursor {
  readonly bounced: number;
}

/** Bounces by domain and hour or day, newest first. */
export function* listBounces(db: ReadDatabase, query: BouncesQuery): SteppedRead<UsagePage<BouncesRow>> {
  const { domain } = query;
  return yield* countsIn<BouncesRow>(db, query, {
    table: "bounces",
    key: ["domain"],
    counts: ["bounced"],
    group: (row) => String(row.domain),
    isWanted: (row) => domain === undefined || row.domain === domain,
  });
}

/** The owner's counts for the hour of `at` (RFC 3339). Reads one row. */
export function totalsOfHour(db: ReadDatabase, ownerId: string, at: string): Counts {
  const sql = `SELECT ${COUNTS.join(", ")} FROM usage_totals WHERE workspace_id = ? AND day = ? AND hour = ?`;
  const row = db.get(sql, ownerId, utcDay(at), utcHour(at));
  return Object.fromEntries(COUNTS.map((name) => [name, Number(row?.[name] ?? 0)])) as Counts;
}

/** What the rates of a workspace are made of. */
export interface RateCounts {
  readonly sent: number;
  readonly hardBounced: number;
  readonly complained: number;
}

const RATES_SINCE = `SELECT ifnull(sum(sent), 0) AS sent, ifnull(sum(hard_bounced), 0) AS hardBounced,
    ifnull(sum(complained), 0) AS complained
  FROM sending_rates WHERE workspace_id = ? AND (day, hour) >= (?, ?) AND (day, hour) <= (?, ?)`;
const NEXT_RATED =
  "SELECT workspace_id AS id FROM sending_rates WHERE workspace_id > ? ORDER BY workspace_id LIMIT 1";

/**
 * What became of a workspace's messages from the hour of `from` to that of `until` (RFC 3339): a clock that was ahead may
 * have dated some later. Reads a row for each hour.
 */
export function rateCounts(db: ReadDatabase, workspaceId: string, from: string, until: string): RateCounts {
  const hours = [utcDay(from), utcHour(from), utcDay(until), utcHour(until)] as const;
  const found = firstRow<RateCounts>(db, RATES_SINCE, workspaceId, ...hours);
  return found ?? { sent: 0, hardBounced: 0, complained: 0 };
}

/** The workspaces that have sent something, by id, after `after`; at most `max`. */
export function ratedWorkspaces(db: ReadDatabase, after: string, max: number): readonly string[] {
  const ids: string[] = [];
  for (let last: string | undefined = after; last !== undefined && ids.length < max; ) {
    last = firstRow<{ readonly id: string }>(db, NEXT_RATED, last)?.id;
    if (last !== undefined) ids.push(last);
  }
  return ids;
}
