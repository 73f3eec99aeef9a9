import type { ProjectionTable } from "../../projection.ts";
import { sqlList } from "../../sqlListsAndInserts.ts";

/** How a message can end. Acceptance is counted separately. */
export const ENDINGS = ["sent", "bounced", "failed", "suppressed", "canceled"] as const;
export type Ending = (typeof ENDINGS)[number];

/** The statuses that only feedback leads to. */
export const FEEDBACK_STATUSES = ["delivered", "complained"] as const;
/** A report on a message that a relay has taken. It counts when it arrives, in addition to how the delivery ended. */
export type Feedback = "bounced" | (typeof FEEDBACK_STATUSES)[number];

/** The statuses of messages whose delivery has ended, for use in SQL. */
export const ENDED = sqlList([...ENDINGS, ...FEEDBACK_STATUSES]);

export const COUNTS = ["accepted", ...ENDINGS, ...FEEDBACK_STATUSES] as const;

/**
 * What a workspace's bounce and complaint rates are made of, without test mail and mail to the simulator. `sent`: a relay
 * took the message, or refused its recipient for good. Each counts in the hour in which its message was accepted or
 * scheduled for, however much later a report came.
 */
export const RATE_COUNTS = ["sent", "hard_bounced", "complained"] as const;

/** How many messages there are of each kind. */
export type Counts = Readonly<Record<(typeof COUNTS)[number], number>>;

/** Stands for "none" in keys, which have no nulls. No template has this id, and no domain has this name. */
export const NONE = "";

/** The columns of the hour that counts belong to. */
export const HOUR_KEY = ["workspace_id", "day", "hour"];

/** A table of counts by hour, and by further columns. */
function countTable(name: string, by: readonly string[], counts: readonly string[]): ProjectionTable {
  const key = [...HOUR_KEY, ...by];
  const columns = [
    "workspace_id TEXT NOT NULL, day TEXT NOT NULL, hour INTEGER NOT NULL",
    ...by.map((column) => `${column} TEXT NOT NULL`),
    ...counts.map((count) => `${count} INTEGER NOT NULL DEFAULT 0`),
    `PRIMARY KEY (${key.join(", ")})`,
  ];
  return { name, columns: columns.join(", "), key };
}

/**
 * The usage tables are in the same read model as the messages' rows, which know whether a message has ended, its owner
 * and its template. Days and hours are UTC. An acceptance counts in its hour, an ending in the hour of its event.
 * Events of other hours never change a row, so the rows of any range add up. (`sending_rates`: see {@link RATE_COUNTS}.)
 */
export const usageTables: readonly ProjectionTable[] = [
  countTable("usage", ["sender_id", "template_id"], COUNTS),
  // The sums of the rows of an hour, because a workspace with many senders and templates has many rows.
  countTable("usage_totals", [], COUNTS),
  // By the keyed hash of a tag. A message with several tags counts for each of them.
  countTable("usage_tags", ["tag"], COUNTS),
  countTable("bounces", ["domain"], ["bounced"]),
  countTable("sending_rates", [], RATE_COUNTS),
];
