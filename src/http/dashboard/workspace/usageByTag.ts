import { listUsage } from "../../../../projections/emails/usage/queries.ts";
import type { UsageRange } from "../../../../projections/emails/usage/usageBuckets.ts";
import { type ListSource, readInSteps } from "../../lists/caughtUpReads.ts";
import { tagNamesByHash } from "../../usage/tagNamesByHash.ts";
import { addCounted, type Counted, noneCounted } from "../overview/overviewCounts.ts";

/** The outcomes of the messages with one tag. */
export interface TagUsage extends Readonly<Record<Counted, number>> {
  /** As spelled in messages. */
  readonly tag: string;
}

/** Rows, one per day and tag, to add up; earlier days are left out. */
const ROWS_MAX = 2_000;
/** Tags to show: those with the most messages. */
const TAGS_MAX = 20;

/** The outcomes of messages by tag, most messages first. Leaves out tags whose names are all erased. */
export async function usageByTag(
  source: ListSource,
  counting: Pick<UsageRange, "ownerId" | "from" | "before">,
): Promise<readonly TagUsage[]> {
  const query = { ...counting, by: "day", groupBy: "tag", limit: ROWS_MAX } as const;
  const { rows } = await readInSteps(source.readModel("emails"), (db) => listUsage(db, query));
  const sums = new Map<string, Record<Counted, number>>();
  for (const row of rows) addCounted(sums.getOrInsertComputed(row.group, noneCounted), row);
  const most = [...sums]
    .map(([group, counts]) => ({ group, counts }))
    .sort((one, other) => other.counts.accepted - one.counts.accepted)
    .slice(0, TAGS_MAX);
  const names = await tagNamesByHash(source, counting.ownerId, most);
  return most.flatMap(({ group, counts }) => {
    const tag = names.get(group);
    return tag === undefined ? [] : [{ tag, ...counts }];
  });
}
