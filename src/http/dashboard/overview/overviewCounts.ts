import { countsByMinute } from "../../../../projections/emails/queries.ts";
import { listUsage } from "../../../../projections/emails/usage/queries.ts";
import { FEEDBACK_STATUSES } from "../../../../projections/emails/usage/tables.ts";
import { DAY_MS, type EpochMs, HOUR_MS, MINUTE_MS, rfc3339 } from "../../../kernel/time.ts";
import { type ReadModel, readInSteps, scheduledRead } from "../../lists/caughtUpReads.ts";

/** What is counted, in the order of the table. `sent`: once; they may have another status since. */
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

/** No message yet, to add to. */
export function noneCounted(): Record<Counted, number> {
  return Object.fromEntries(COUNTED.map((name) => [name, 0])) as Record<Counted, number>;
}

/** Adds the counts of a row of usage. */
export function addCounted(sum: Record<Counted, number>, row: Readonly<Record<Counted, number>>): void {
  for (const name of COUNTED) sum[name] += row[name];
}

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
  const filled = new Map<EpochMs, Record<Counted, number>>();
  for (let nth = 0; nth < buckets; nth += 1) filled.set(first + nth * bucketMs, noneCounted());
  let isCut = false;
  if (range === "hour") isCut = await fillByMinute(emails, ownerId, first, filled);
  else {
    const by = range === "day" ? "hour" : "day";
    const between = { from: rfc3339(first), before: rfc3339(now + bucketMs) };
    const query = { ownerId, ...between, by, limit: buckets } as const;
    const { rows } = await readInSteps(emails, (db) => listUsage(db, query));
    for (const row of rows) {
      const bucket = filled.get(Date.parse(row.start));
      if (bucket !== undefined) addCounted(bucket, row);
    }
  }
  return { buckets: [...filled].map(([start, counts]) => ({ start: rfc3339(start), ...counts })), isCut };
}

async function fillByMinute(
  emails: ReadModel,
  ownerId: string,
  first: EpochMs,
  into: ReadonlyMap<EpochMs, Record<Counted, number>>,
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
