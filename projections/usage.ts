import type { ReadDatabase, SqlRow, SqlValue } from "../src/ports/readDatabase.ts";
import type { ProjectionTable } from "./projection.ts";

/** How a message can end; what it was accepted as counts beside. */
export const ENDINGS = ["sent", "bounced", "failed", "suppressed", "canceled"] as const;
export type Ending = (typeof ENDINGS)[number];

/** The statuses after which a message moves no more, for use in SQL. */
export const ENDED = `(${ENDINGS.map((ending) => `'${ending}'`).join(", ")})`;

const COUNTS = ["accepted", ...ENDINGS] as const;

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
    name: "bounces",
    columns: `workspace_id TEXT NOT NULL, day TEXT NOT NULL, hour INTEGER NOT NULL, domain TEXT NOT NULL,
      bounced INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (workspace_id, day, hour, domain)`,
    key: ["workspace_id", "day", "hour", "domain"],
  },
];

const ADD = "ON CONFLICT DO UPDATE SET";
const ACCEPTED = `INSERT INTO usage (workspace_id, day, hour, sender_id, template_id, accepted)
  VALUES (?, ?, ?, ?, ?, 1) ${ADD} accepted = accepted + 1`;
const ACCEPTED_SUPPRESSED = `INSERT INTO usage
  (workspace_id, day, hour, sender_id, template_id, accepted, suppressed) VALUES (?, ?, ?, ?, ?, 1, 1)
  ${ADD} accepted = accepted + 1, suppressed = suppressed + 1`;
/** A message ends once: one that has ended already is not found. */
const ENDED_AS = Object.fromEntries(
  ENDINGS.map((ending) => [
    ending,
    `INSERT INTO usage (workspace_id, day, hour, sender_id, template_id, ${ending})
      SELECT workspace_id, ?, ?, sender_id, ifnull(template_id, '${NONE}'), 1 FROM emails
      WHERE id = ? AND status NOT IN ${ENDED} ${ADD} ${ending} = ${ending} + 1`,
  ]),
) as Record<Ending, string>;
const BOUNCED = `INSERT INTO bounces (workspace_id, day, hour, domain, bounced)
  SELECT workspace_id, ?, ?, ?, 1 FROM emails WHERE id = ? AND status NOT IN ${ENDED}
  ${ADD} bounced = bounced + 1`;

/** The day of an RFC 3339 time in UTC. */
export function utcDay(time: string): string {
  return time.slice(0, "yyyy-mm-dd".length);
}

function utcHour(time: string): number {
  return Number(time.slice("yyyy-mm-ddT".length, "yyyy-mm-ddThh".length));
}

/** A message that was accepted. */
export interface AcceptedMessage {
  readonly workspaceId: string;
  readonly senderId: string;
  readonly templateId: string | null;
  readonly acceptedAt: string;
  /** Its recipient was suppressed: it ended with its acceptance. */
  readonly isSuppressed: boolean;
}

export function countAccepted(db: ReadDatabase, message: AcceptedMessage): void {
  const { workspaceId, senderId, templateId, acceptedAt, isSuppressed } = message;
  const sql = isSuppressed ? ACCEPTED_SUPPRESSED : ACCEPTED;
  db.run(sql, workspaceId, utcDay(acceptedAt), utcHour(acceptedAt), senderId, templateId ?? NONE);
}

/** Counts the end of a message, unless it has ended before. Comes before its row is told of it. */
export function countEnded(db: ReadDatabase, id: string, ending: Ending, at: string): void {
  db.run(ENDED_AS[ending], utcDay(at), utcHour(at), id);
}

/** Counts a bounce at a domain, beside {@link countEnded} and as it does; undefined: which one is not known. */
export function countBounced(db: ReadDatabase, id: string, domain: string | undefined, at: string): void {
  db.run(BOUNCED, utcDay(at), utcHour(at), domain ?? NONE, id);
}

/** How many messages the workspace was given on the UTC day of `at` (RFC 3339), suppressed ones as well. */
export function emailsOfDay(db: ReadDatabase, workspaceId: string, at: string): number {
  const sql = "SELECT sum(accepted) AS accepted FROM usage WHERE workspace_id = ? AND day = ?";
  return Number(db.get(sql, workspaceId, utcDay(at))?.accepted ?? 0);
}

/** Which buckets to answer: those that begin in the range. Times are RFC 3339 in UTC, on the hour. */
export interface UsageRange {
  readonly workspaceId: string;
  readonly from: string;
  readonly before: string;
  readonly by: "hour" | "day";
  readonly limit: number;
}

/** Which counts to answer. */
export interface UsageQuery extends UsageRange {
  readonly senderId?: string;
  readonly templateId?: string;
  /** One row of a bucket for each sender, or for each template; else one for all. */
  readonly groupBy?: "sender" | "template";
  /** The last row of the page before. */
  readonly after?: UsagePlace;
}

/** Where a row stands. `group` is the sender, the template or the domain; "" for none, or where nothing is grouped. */
export interface UsagePlace {
  /** When the bucket begins. */
  readonly start: string;
  readonly group: string;
}

/** What became of messages in one hour or day. */
export interface UsageRow extends UsagePlace, Readonly<Record<(typeof COUNTS)[number], number>> {}

/** A query that is put together: its conditions, and what stands for their question marks. */
interface Where {
  readonly conditions: string[];
  readonly values: SqlValue[];
}

function inRange({ workspaceId, from, before }: UsageRange): Where {
  const conditions = ["workspace_id = ?", "(day, hour) >= (?, ?)", "(day, hour) < (?, ?)"];
  return { conditions, values: [workspaceId, utcDay(from), utcHour(from), utcDay(before), utcHour(before)] };
}

/** Rows of a table of usage by bucket and `group`, newest first and of one bucket in the group's order. */
function bucketRows(
  db: ReadDatabase,
  { table, counts, group }: { readonly table: string; readonly counts: string; readonly group: string },
  { by, limit, after }: UsageRange & { readonly after?: UsagePlace },
  { conditions, values }: Where,
): readonly SqlRow[] {
  const bucket = by === "hour" ? "day, hour" : "day";
  const [place, ...placed] = by === "hour" ? ["(day, hour)", "(?, ?)"] : ["day", "?"];
  const having =
    after === undefined ? "" : `HAVING ${place} < ${placed} OR (${place} = ${placed} AND part > ?)`;
  const start =
    after === undefined ? [] : [utcDay(after.start), ...(by === "hour" ? [utcHour(after.start)] : [])];
  const sql = `SELECT ${bucket}, ${group} AS part, ${counts} FROM ${table} WHERE ${conditions.join(" AND ")}
    GROUP BY ${bucket}, part ${having} ORDER BY ${bucket.replace(",", " DESC,")} DESC, part LIMIT ?`;
  return db.all(sql, ...values, ...start, ...start, ...(after ? [after.group] : []), limit);
}

function startOf({ day, hour = 0 }: SqlRow): string {
  return `${day}T${String(hour).padStart(2, "0")}:00:00.000Z`;
}

const GROUPS = { sender: "sender_id", template: "template_id" } as const;

/** Counts by hour or day, newest first. Buckets and groups in which nothing happened are left out. */
export function listUsage(db: ReadDatabase, query: UsageQuery): readonly UsageRow[] {
  const where = inRange(query);
  for (const [column, value] of [
    ["sender_id", query.senderId],
    ["template_id", query.templateId],
  ] as const) {
    if (value === undefined) continue;
    where.conditions.push(`${column} = ?`);
    where.values.push(value);
  }
  const counts = COUNTS.map((name) => `sum(${name}) AS ${name}`).join(", ");
  const group = query.groupBy === undefined ? `'${NONE}'` : GROUPS[query.groupBy];
  return bucketRows(db, { table: "usage", counts, group }, query, where).map((row) => {
    const numbers = Object.fromEntries(COUNTS.map((name) => [name, Number(row[name])]));
    return {
      start: startOf(row),
      group: String(row.part),
      ...(numbers as Record<(typeof COUNTS)[number], number>),
    };
  });
}

/** Which bounces to answer. */
export interface BouncesQuery extends UsageRange {
  readonly domain?: string;
  readonly after?: UsagePlace;
}

/** How many messages bounced at a domain (`group`; "": it is not known) in one hour or day. */
export interface BouncesRow extends UsagePlace {
  readonly bounced: number;
}

/** Bounces by domain and hour or day, newest first. */
export function listBounces(db: ReadDatabase, query: BouncesQuery): readonly BouncesRow[] {
  const where = inRange(query);
  if (query.domain !== undefined) {
    where.conditions.push("domain = ?");
    where.values.push(query.domain);
  }
  const columns = { table: "bounces", counts: "sum(bounced) AS bounced", group: "domain" };
  return bucketRows(db, columns, query, where).map((row) => {
    return { start: startOf(row), group: String(row.part), bounced: Number(row.bounced) };
  });
}
