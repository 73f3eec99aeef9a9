import type { ReadDatabase } from "../../src/ports/readDatabase.ts";

const HOLD_READY = "UPDATE deliveries SET held = 1, state = 'held' WHERE state = 'ready'";
const HOLD_LEASED = "UPDATE deliveries SET held = 1 WHERE state = 'leased'";
const RELEASE_ALL =
  "UPDATE deliveries SET held = 0, state = iif(state = 'held', 'ready', state) WHERE held = 1";

/** Holds the open deliveries after the log was restored, but not later ones. */
export function holdAll(db: ReadDatabase): void {
  db.run(HOLD_READY);
  db.run(HOLD_LEASED);
}

/** Releases the held deliveries when the operator resumes delivery. */
export function releaseAll(db: ReadDatabase): void {
  db.run(RELEASE_ALL);
}

/** How many deliveries are held because the log was restored. */
export function heldWebhooks(db: ReadDatabase): number {
  return Number(db.get("SELECT count(*) AS held FROM deliveries WHERE held = 1 AND state <> 'done'")?.held);
}
