import type { DatabaseSync } from "node:sqlite";

/** Runs `work` in one transaction: all that it writes is there in the end, or nothing. */
export function writeTransaction(db: DatabaseSync, work: () => void): void {
  db.exec("BEGIN IMMEDIATE");
  try {
    work();
    db.exec("COMMIT");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}
