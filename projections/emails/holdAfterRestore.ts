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
export function isHeld(db: ReadDatabase, id: string): boolean {
  return db.get("SELECT held FROM emails WHERE id = ?", id)?.held === 1;
}

/** How many messages are held because the log was restored, and how many of them are still claimed. */
export function heldEmails(db: ReadDatabase): { readonly held: number; readonly claimed: number } {
  const row = db.get(
    "SELECT count(*) AS held, total(queue = 'leased') AS claimed FROM emails WHERE held = 1",
  );
  return { held: Number(row?.held), claimed: Number(row?.claimed) };
}
