import type { ProjectionTable } from "../projection.ts";
import { sqlList } from "../sqlListsAndInserts.ts";
import { QUEUE_COLUMNS, QUEUE_INDEXES } from "./mailQueueColumns.ts";
import { usageTables } from "./usage/tables.ts";

/**
 * Statuses that few messages have. A partial index finds them, which costs the other messages nothing. Of the other
 * statuses, `sent` and `delivered` are everywhere, and messages in progress are among the newest.
 */
export const RARE_STATUSES: readonly string[] = [
  "scheduled",
  "deferred",
  "bounced",
  "complained",
  "failed",
  "suppressed",
  "canceled",
];
/** Those of the rare statuses that have a reason. */
export const REASONED_STATUSES: readonly string[] = ["deferred", "bounced", "failed", "suppressed"];
export const IS_RARE = `status IN ${sqlList(RARE_STATUSES)}`;
/** This much of the hash matches few other recipients, and halves the size of the index. */
const RECIPIENT_KEY_CHARACTERS = 12;
export const RECIPIENT_KEY = `substr(recipient_hash, 1, ${RECIPIENT_KEY_CHARACTERS})`;

/** The part of a recipient's hash that is indexed. */
export function recipientKey(recipientHash: string): string {
  return recipientHash.slice(0, RECIPIENT_KEY_CHARACTERS);
}

/** The first 128 bits are enough to recognize a request, and take half the room. */
const FINGERPRINT_KEY_CHARACTERS = 32;

/** The part of a request's fingerprint that its message's row holds. */
export function fingerprintKey(fingerprint: string): string {
  return fingerprint.slice(0, FINGERPRINT_KEY_CHARACTERS);
}

/** SQL: from when the retention of a message's content counts, as `retainedSince` of the domain. */
export const RETAINED_SINCE = "max(created_at, ifnull(scheduled_at, created_at))";

export const TABLES: readonly ProjectionTable[] = [
  {
    // `reported` is the first bounce or complaint, as a status, also if it did not change the message's own.
    name: "emails",
    columns: `id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, status TEXT NOT NULL, sender_id TEXT NOT NULL,
      template_id TEXT, template_version_id TEXT, api_key_id TEXT, again_of TEXT, recipient_hash TEXT NOT NULL,
      created_at TEXT NOT NULL, updated_at TEXT NOT NULL, attempts INTEGER NOT NULL, reason TEXT,
      is_retained INTEGER NOT NULL, content_bytes INTEGER NOT NULL,
      ${QUEUE_COLUMNS}, tags TEXT, accepted_as TEXT NOT NULL, fingerprint TEXT NOT NULL,
      reported TEXT, reported_reason TEXT`,
    key: ["id"],
    indexes: [
      "CREATE INDEX emails_by_time ON emails (workspace_id, created_at)",
      `CREATE INDEX emails_by_recipient ON emails (${RECIPIENT_KEY}, created_at)`,
      `CREATE INDEX emails_by_rare_status ON emails (workspace_id, status, created_at) WHERE ${IS_RARE}`,
      // Messages that have ended and whose content is not erased.
      `CREATE INDEX emails_retained ON emails (workspace_id, ${RETAINED_SINCE}) WHERE is_retained = 1`,
      // Few messages are sent again, and the others cost nothing here.
      "CREATE INDEX emails_by_original ON emails (again_of) WHERE again_of IS NOT NULL",
      ...QUEUE_INDEXES,
    ],
  },
  {
    // One row for each tag of a message, by the tag's keyed hash.
    name: "email_tags",
    columns: "tag TEXT NOT NULL, id TEXT NOT NULL, created_at TEXT NOT NULL, PRIMARY KEY (tag, id)",
    key: ["tag", "id"],
    indexes: ["CREATE INDEX email_tags_by_time ON email_tags (tag, created_at)"],
  },
  {
    // One row for each pair of a message's metadata, by the pair's keyed hash, until its content is erased.
    name: "email_metadata",
    columns: "id TEXT NOT NULL, pair TEXT NOT NULL, created_at TEXT NOT NULL, PRIMARY KEY (id, pair)",
    key: ["id", "pair"],
    indexes: ["CREATE INDEX email_metadata_by_time ON email_metadata (pair, created_at)"],
  },
  {
    // Requests to erase a person that are not applied yet.
    name: "recipient_erasures",
    columns: "id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, recipient_hash TEXT NOT NULL",
    key: ["id"],
  },
  {
    // The sum over the messages' rows, because there may be millions of them.
    name: "content",
    columns: "workspace_id TEXT PRIMARY KEY, bytes INTEGER NOT NULL",
    key: ["workspace_id"],
  },
  ...usageTables,
];
