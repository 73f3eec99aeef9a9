import { utcDay } from "../../src/kernel/time.ts";
import type { ReadDatabase } from "../../src/ports/readDatabase.ts";

/** How many messages the read model counts as accepted for the owner on the UTC day of `at` (RFC 3339). */
export function acceptedOnDay(db: ReadDatabase, ownerId: string, at: string): number {
  const sql = "SELECT sum(accepted) AS accepted FROM usage_totals WHERE workspace_id = ? AND day = ?";
  return Number(db.get(sql, ownerId, utcDay(at))?.accepted ?? 0);
}
