import type { ProjectionTable } from "../projection.ts";

/** How a message can end; what it was accepted as counts beside. */
export const ENDINGS = ["sent", "bounced", "failed", "suppressed", "canceled"] as const;
export type Ending = (typeof ENDINGS)[number];

/** The statuses that only feedback leads to. */
export const FEEDBACK_STATUSES = ["delivered", "complained"] as const;
/** A report on a message that a relay has taken: it counts when it comes, beside how the delivery ended. */
export type Feedback = "bounced" | (typeof FEEDBACK_STATUSES)[number];

/** The statuses after which no delivery goes on, for use in SQL. */
export const ENDED = `(${[...ENDINGS, ...FEEDBACK_STATUSES].map((ending) => `'${ending}'`).join(", ")})`;

export const COUNTS = ["accepted", ...ENDINGS, ...FEEDBACK_STATUSES] as const;

/** How many messages of each kind. */
export type Counts = Readonly<Record<(typeof COUNTS)[number], number>>;

/** Stands for "none" in a key, which holds no nulls. No template has this id, and no domain is called so. */
export const NONE = "";

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
