import { ACCEPTANCE_REVISION } from "../../src/domain/email/events.ts";
import type { EpochMs } from "../../src/kernel/time.ts";
import type { ReadDatabase } from "../../src/ports/readDatabase.ts";

/** Each uses an index of messages that have not ended. */
const HOLD_ALL = [
  "UPDATE emails SET held = 1 WHERE queue = 'leased'",
  "UPDATE emails SET held = 1, queue = 'held' WHERE queue = 'ready'",
];
const RELEASE_ALL = "UPDATE emails SET held = 0, queue = iif(queue = 'held', 'ready', queue) WHERE held = 1";

/** Holds all earlier messages after the log was restored, so none goes out by itself. */
export function holdAll(db: ReadDatabase): void {
  for (const sql of HOLD_ALL) db.run(sql);
}

/** Releases the held messages when the operator resumes delivery. */
export function releaseAll(db: ReadDatabase): void {
  db.run(RELEASE_ALL);
}

/** Whether a message is held because the log was restored. */
export function isHeldAfterRestore(db: ReadDatabase, id: string): boolean {
  return db.get("SELECT 1 AS found FROM emails WHERE id = ? AND held = 1", id) !== undefined;
}

/**
 * SQL: whether a held message cannot have been sent before a restoration at `?1`, in ms: it is scheduled for later, and was
 * never rescheduled. After the restoration it could have been, from an earlier time.
 */
const NOT_DUE_BEFORE = `(queue = 'held' AND status = 'scheduled' AND due_at > ?1 AND revision = ${ACCEPTANCE_REVISION})`;

/** How a message is held because the log was restored; null if it is not held. */
type Hold = "claimed" | "notYetDue" | "waiting" | null;

/** How a message is held since the restoration at `restoredAt`, as {@link HeldEmails} counts it. */
export function heldAs(db: ReadDatabase, id: string, restoredAt: EpochMs): Hold {
  const sql = `SELECT queue, ${NOT_DUE_BEFORE} AS notYetDue FROM emails WHERE id = ?2 AND held = 1`;
  const row = db.get(sql, restoredAt, id);
  if (row === undefined) return null;
  if (row.queue === "leased") return "claimed";
  return row.notYetDue === 1 ? "notYetDue" : "waiting";
}

/** How many messages are held because the log was restored. */
export interface HeldEmails {
  readonly held: number;
  /** Those that a worker had claimed then. */
  readonly claimed: number;
  /** Those that cannot have been sent, because they are scheduled for later than the restoration. */
  readonly notYetDue: number;
}

/** All messages that are held since the restoration at `restoredAt`. */
export function heldEmails(db: ReadDatabase, restoredAt: EpochMs): HeldEmails {
  const sql = `SELECT count(*) AS held, total(queue = 'leased') AS claimed, total(${NOT_DUE_BEFORE}) AS notYetDue
    FROM emails WHERE held = 1`;
  const row = db.get(sql, restoredAt);
  return { held: Number(row?.held), claimed: Number(row?.claimed), notYetDue: Number(row?.notYetDue) };
}
