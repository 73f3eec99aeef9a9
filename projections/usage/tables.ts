import type { ProjectionTable } from "../projection.ts";

/** How a message can end. Acceptance is counted separately. */
export const ENDINGS = ["sent", "bounced", "failed", "suppressed", "canceled"] as const;
export type Ending = (typeof ENDINGS)[number];

/** The statuses that only feedback leads to. */
export const FEEDBACK_STATUSES = ["delivered", "complained"] as const;
/** A report on a message that a relay has taken. It counts when it arrives, in addition to how the delivery ended. */
export type Feedback = "bounced" | (typeof FEEDBACK_STATUSES)[number];

/** The statuses of messages whose delivery has ended, for use in SQL. */
export const ENDED = `(${[...ENDINGS, ...FEEDBACK_STATUSES].map((ending) => `'${ending}'`).join(", ")})`;

export const COUNTS = ["accepted", ...ENDINGS, ...FEEDBACK_STATUSES] as const;

/** How many messages there are of each kind. */
export type Counts = Readonly<Record<(typeof COUNTS)[number], number>>;

/** Stands for "none" in keys, which have no nulls. No template has this id, and no domain has this name. */
export const NONE = "";

/**
 * The usage tables are in the same read model as the messages' rows, which know whether a message has ended, its owner
 * and its template. Days and hours are UTC. An acceptance counts in its hour, an ending in the hour of its event.
 * Events of other hours never change a row, so the rows of any range add up.
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
    // The sums of the rows of an hour, because a workspace with many senders and templates has many rows.
    name: "usage_totals",
    columns: `workspace_id TEXT NOT NULL, day TEXT NOT NULL, hour INTEGER NOT NULL,
      ${COUNTS.map((name) => `${name} INTEGER NOT NULL DEFAULT 0`).join(", ")},
      PRIMARY KEY (workspace_id, day, hour)`,
    key: ["workspace_id", "day", "hour"],
  },
  {
    // By the keyed hash of a tag. A message with several tags counts for each of them.
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
