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

/** How a message is held because the log was restored: `claimed` if a worker had it then. Null if it is not held. */
export function heldAs(db: ReadDatabase, id: string): "waiting" | "claimed" | null {
  const row = db.get("SELECT held, queue FROM emails WHERE id = ?", id);
  if (row?.held !== 1) return null;
  return row.queue === "leased" ? "claimed" : "waiting";
}

/** How many messages are held because the log was restored, and how many of them are still claimed. */
export interface HeldEmails {
  readonly held: number;
  readonly claimed: number;
}

/** All messages that are held because the log was restored. */
export function heldEmails(db: ReadDatabase): HeldEmails {
  const row = db.get(
    "SELECT count(*) AS held, total(queue = 'leased') AS claimed FROM emails WHERE held = 1",
  );
  return { held: Number(row?.held), claimed: Number(row?.claimed) };
}
