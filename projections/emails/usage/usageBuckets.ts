import { DAY_MS, epochMs, HOUR_MS, rfc3339, utcDay } from "../../../src/kernel/time.ts";
import type { ReadDatabase, SqlRow, SqlValue } from "../../../src/ports/readDatabase.ts";
import { ROWS_SCANNED_MAX } from "../../keysetPagination.ts";
import { NONE } from "./tables.ts";
import { utcHour } from "./utcHour.ts";

/** The buckets to return: those that start within the range. Times are RFC 3339 in UTC, on the hour. */
export interface UsageRange {
  readonly ownerId: string;
  readonly from: string;
  readonly before: string;
  readonly by: "hour" | "day";
  /** The last row of the previous page. */
  readonly after?: UsageCursor;
  readonly limit: number;
}

/** The key of a row. `group` is the sender, template, tag or domain; "" for none, or if nothing is grouped. */
export interface UsageCursor {
  readonly start: string;
  readonly group: string;
}

/** One page, and where the next one begins; null after the last. */
export interface UsagePage<Row> {
  readonly rows: readonly Row[];
  readonly next: UsageCursor | null;
}

/** A read that runs one query per step and lets other work run in between. */
export type SteppedRead<Result> = Generator<void, Result, void>;

/** A table of counts by hour, which of its rows are wanted, and how they are grouped. */
export interface CountSource {
  readonly table: string;
  /** The columns after day and hour in its key. */
  readonly key: readonly string[];
  readonly counts: readonly string[];
  readonly group: (row: SqlRow) => string;
  readonly isWanted: (row: SqlRow) => boolean;
}

/** Counts of one hour or day by group. */
interface Bucket {
  readonly start: string;
  readonly groups: LeastGroups;
}

/** The counts of one bucket and group, in the order of the source's `counts`. */
interface CountedRow extends UsageCursor {
  readonly counts: readonly number[];
}

/** How many rows a page scans before it ends with the current bucket. */
const PAGE_ROWS_SCANNED_MAX = 10 * ROWS_SCANNED_MAX;
/** Sorts after the names of all groups, which are ASCII. */
const AFTER_ALL_GROUPS = "~";

/** Counts by bucket, newest first, and by group within a bucket. */
export function* usageBuckets(
  db: ReadDatabase,
  source: CountSource,
  range: UsageRange,
): SteppedRead<UsagePage<CountedRow>> {
  const counting = new PageCount(source, range);
  let rows: readonly SqlRow[] = [];
  do {
    rows = rowsBelow(db, source, range, rows.at(-1));
    for (const row of rows) {
      const page = counting.take(row);
      if (page !== null) return page;
    }
    yield;
  } while (rows.length === ROWS_SCANNED_MAX);
  return counting.end();
}

/**
 * Counts the rows of a page, bucket by bucket. A page scans a bounded number of rows, and then goes on to the end of
 * its current bucket, because a bucket's rows are always counted together.
 */
class PageCount {
  private readonly found: CountedRow[] = [];
  private bucket: Bucket | null = null;
  private scanned = 0;

  constructor(
    private readonly source: CountSource,
    private readonly range: UsageRange,
  ) {}

  /** Counts a row. Returns the page if it ends before this row. */
  take(row: SqlRow): UsagePage<CountedRow> | null {
    const start = startOf(row, this.range.by);
    if (this.bucket !== null && this.bucket.start !== start) {
      const page = this.endedWith(this.bucket);
      if (page !== null) return page;
      this.bucket = null;
    }
    this.bucket ??= { start, groups: this.groupsOf(start) };
    if (this.source.isWanted(row)) this.bucket.groups.count(this.source, row);
    this.scanned += 1;
    return null;
  }

  /** Returns the page when there are no more rows. */
  end(): UsagePage<CountedRow> {
    if (this.bucket) this.found.push(...countedIn(this.bucket));
    return pageOf(this.found, this.range.limit);
  }

  /** One group more than the page shows; in the previous page's last bucket only groups after its last one. */
  private groupsOf(start: string): LeastGroups {
    const { after, limit } = this.range;
    return new LeastGroups(after?.start === start ? after.group : null, limit + 1);
  }

  private endedWith(bucket: Bucket): UsagePage<CountedRow> | null {
    const found = this.found;
    found.push(...countedIn(bucket));
    if (found.length > this.range.limit) return pageOf(found, this.range.limit);
    if (this.scanned < PAGE_ROWS_SCANNED_MAX) return null;
    return { rows: found, next: { start: bucket.start, group: AFTER_ALL_GROUPS } };
  }
}

function pageOf(found: readonly CountedRow[], limit: number): UsagePage<CountedRow> {
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  return { rows, next: found.length > limit && last ? { start: last.start, group: last.group } : null };
}

/**
 * The counts of the first groups of a bucket, by name. However many groups a bucket has, it keeps at most two pages of
 * them in memory, because a group that sorts after those can never move to the front.
 */
class LeastGroups {
  private readonly counts = new Map<string, number[]>();
  private last: string | null = null;

  constructor(
    private readonly after: string | null,
    private readonly wanted: number,
  ) {}

  count({ counts, group }: CountSource, row: SqlRow): void {
    const name = group(row);
    if (this.after !== null && name <= this.after) return;
    if (this.last !== null && name > this.last) return;
    const before = this.counts.get(name);
    this.counts.set(
      name,
      counts.map((column, index) => Number(row[column]) + (before?.[index] ?? 0)),
    );
    if (this.counts.size >= 2 * this.wanted) this.cut();
  }

  /** The groups in order of name. */
  all(): readonly (readonly [string, readonly number[]])[] {
    return this.sorted().slice(0, this.wanted);
  }

  private cut(): void {
    const sorted = this.sorted();
    for (const [name] of sorted.slice(this.wanted)) this.counts.delete(name);
    this.last = sorted[this.wanted - 1]?.[0] ?? null;
  }

  private sorted() {
    return [...this.counts].sort(([one], [other]) => (one < other ? -1 : 1));
  }
}

function countedIn({ start, groups }: Bucket): readonly CountedRow[] {
  return groups.all().map(([group, counts]) => ({ start, group, counts }));
}

/** The next rows of the range, back in time from `last`, or from where the page begins. */
function rowsBelow(
  db: ReadDatabase,
  { table, key, counts }: CountSource,
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
    ORDER BY ${columns.map((column) => `${column} DESC`).join(", ")} LIMIT ${ROWS_SCANNED_MAX}`;
  return db.all(sql, range.ownerId, utcDay(range.from), utcHour(range.from), ...below);
}

const BUCKET_MS = { hour: HOUR_MS, day: DAY_MS };

/** The time before which a page's rows lie: the end of the range, or of the previous page's last bucket. */
function endOf({ before, by, after }: UsageRange): string {
  if (after === undefined) return before;
  const end = rfc3339(epochMs(after.start) + BUCKET_MS[by]);
  return end < before ? end : before;
}

function startOf({ day, hour }: SqlRow, by: UsageRange["by"]): string {
  return `${day}T${String(by === "hour" ? hour : 0).padStart(2, "0")}:00:00.000Z`;
}
