import { countsByMinute } from "../../../../projections/emails/queries.ts";
import { listUsage } from "../../../../projections/usage/queries.ts";
import { FEEDBACK_STATUSES } from "../../../../projections/usage/tables.ts";
import { DAY_MS, type EpochMs, HOUR_MS, MINUTE_MS, rfc3339 } from "../../../kernel/time.ts";
import { type ReadModel, readInSteps, scheduledRead } from "../../lists/caughtUpReads.ts";

/** What is counted, in the order of the table. */
export const COUNTED = [
  "accepted",
  "sent",
  "delivered",
  "bounced",
  "complained",
  "failed",
  "suppressed",
] as const;
export type Counted = (typeof COUNTED)[number];

/** The time ranges of the overview. */
export const RANGES = ["hour", "day", "month"] as const;
export type Range = (typeof RANGES)[number];

interface Span {
  /** The length of one bucket, in ms. */
  readonly bucketMs: number;
  readonly buckets: number;
}

const SPANS: Readonly<Record<Range, Span>> = {
  hour: { bucketMs: 5 * MINUTE_MS, buckets: 12 },
  day: { bucketMs: HOUR_MS, buckets: 24 },
  month: { bucketMs: DAY_MS, buckets: 30 },
};

/** The counts of one bucket, which begins at `start`. */
export interface Bucket extends Readonly<Record<Counted, number>> {
  /** RFC 3339. */
  readonly start: string;
}

export interface Counts {
  /** Oldest first, without gaps; the last is still open. */
  readonly buckets: readonly Bucket[];
  /** Whether there were more messages than were counted. */
  readonly isCut: boolean;
}

/** Messages of the last hour to count. */
export const MESSAGES_OF_HOUR_MAX = 5_000;

/**
 * The outcomes of a mail owner's messages. For days and months, an outcome counts in the hour it was recorded in; for
 * the last hour, in that of its message's acceptance.
 */
export async function countsOf(
  emails: ReadModel,
  ownerId: string,
  range: Range,
  now: EpochMs,
): Promise<Counts> {
  const { bucketMs, buckets } = SPANS[range];
  const first = Math.floor(now / bucketMs) * bucketMs - (buckets - 1) * bucketMs;
  const empty = new Map<EpochMs, Record<Counted, number>>();
  for (let nth = 0; nth < buckets; nth += 1) {
    const none = Object.fromEntries(COUNTED.map((name) => [name, 0])) as Record<Counted, number>;
    empty.set(first + nth * bucketMs, none);
  }
  const isCut =
    range === "hour"
      ? await fillByMinute(emails, ownerId, first, empty)
      : await fillByUsage(emails, { ownerId, first, range, now }, empty);
  return { buckets: [...empty].map(([start, counts]) => ({ start: rfc3339(start), ...counts })), isCut };
}

type Filled = ReadonlyMap<EpochMs, Record<Counted, number>>;

async function fillByMinute(
  emails: ReadModel,
  ownerId: string,
  first: EpochMs,
  into: Filled,
): Promise<boolean> {
  const found = await scheduledRead(emails, (db) =>
    countsByMinute(db, ownerId, rfc3339(first), MESSAGES_OF_HOUR_MAX),
  );
  let messages = 0;
  for (const { minute, status, messages: count } of found) {
    messages += count;
    const at = Date.parse(`${minute}:00Z`);
    const bucket = into.get(Math.floor(at / SPANS.hour.bucketMs) * SPANS.hour.bucketMs);
    if (bucket === undefined) continue;
    bucket.accepted += count;
    const counted = COUNTED.find((name) => name === status);
    if (counted !== undefined) bucket[counted] += count;
    // A message with feedback was sent before.
    if (FEEDBACK_STATUSES.some((told) => told === status)) bucket.sent += count;
  }
  return messages === MESSAGES_OF_HOUR_MAX;
}

interface UsageQuery {
  readonly ownerId: string;
  readonly first: EpochMs;
  readonly range: Exclude<Range, "hour">;
  readonly now: EpochMs;
}

async function fillByUsage(
  emails: ReadModel,
  { ownerId, first, range, now }: UsageQuery,
  into: Filled,
): Promise<boolean> {
  const asked = {
    ownerId,
    from: rfc3339(first),
    before: rfc3339(now + SPANS[range].bucketMs),
    by: range === "day" ? ("hour" as const) : ("day" as const),
    limit: SPANS[range].buckets,
  };
  const { rows } = await readInSteps(emails, (db) => listUsage(db, asked));
  for (const row of rows) {
    const bucket = into.get(Date.parse(row.start));
    if (bucket === undefined) continue;
    for (const name of COUNTED) bucket[name] += row[name];
  }
  return false;
}
