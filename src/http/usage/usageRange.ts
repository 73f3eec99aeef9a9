import type { UsageCursor, UsageRange } from "../../../projections/emails/usage/usageBuckets.ts";
import { DAY_MS, type EpochMs, epochMs, HOUR_MS, parseDateTime, rfc3339 } from "../../kernel/time.ts";
import { rangeEnd } from "../body/dateTimeText.ts";
import { decodeCursor, notACursor, pageItems } from "../lists/cursorPaging.ts";
import { invalid } from "../server/problem.ts";

/** The longest range of one request, by the size of its buckets. */
export const RANGE_DAYS_MAX = { hour: 31, day: 92 } as const;
/** The default range, back from the present. */
export const RANGE_DAYS_DEFAULT = { hour: 1, day: 30 } as const;

interface RangeQuery {
  readonly from?: string;
  readonly to?: string;
  readonly by?: "hour" | "day";
  readonly cursor?: string;
  readonly limit?: string;
}

/** The first bucket start that is not before `at`. Adjacent ranges therefore share no bucket. */
function nextStart(at: EpochMs, by: "hour" | "day"): string {
  const sizeMs = by === "hour" ? HOUR_MS : DAY_MS;
  return rfc3339(Math.ceil(at / sizeMs) * sizeMs);
}

export function usageRange(ownerId: string, query: RangeQuery, now: EpochMs): UsageRange {
  const { by = "day", cursor } = query;
  const to = query.to === undefined ? now : epochMs(rangeEnd("/to", query.to));
  const from =
    query.from === undefined ? to - RANGE_DAYS_DEFAULT[by] * DAY_MS : epochMs(rangeEnd("/from", query.from));
  if (to < from) throw invalid("/to", "lies before from");
  if (to - from > RANGE_DAYS_MAX[by] * DAY_MS) {
    throw invalid("/to", `lies more than ${RANGE_DAYS_MAX[by]} days after from`);
  }
  const limit = pageItems(query.limit);
  return {
    ownerId,
    from: nextStart(from, by),
    before: nextStart(to, by),
    by,
    limit,
    ...(cursor === undefined ? {} : { after: usageCursorOf(cursor) }),
  };
}

/** A cursor of these lists holds a row's start and group. */
function usageCursorOf(cursor: string): UsageCursor {
  const { createdAt: start, id: group } = decodeCursor(cursor);
  if (parseDateTime(start) === null) throw notACursor();
  return { start, group };
}
