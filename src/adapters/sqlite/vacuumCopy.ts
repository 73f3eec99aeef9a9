import { DatabaseSync } from "node:sqlite";
import { messageOf } from "../../kernel/text/errorReason.ts";
import { StoreError } from "../../ports/eventStore.ts";

/** Only where another process recovers the file after a crash is it locked for longer than a moment. */
const BUSY_TIMEOUT_MS = 10_000;

/** `failing` says what cannot be done where `work` throws. */
function withDatabase<Result>(path: string, work: (db: DatabaseSync) => Result, failing: string): Result {
  using db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    return work(db);
  } catch (error) {
    // SQLite's own words: a full disk is one of many reasons.
    throw new StoreError("unavailable", `the log ${path} ${failing}: ${messageOf(error)}`, { cause: error });
  }
}

/**
 * Copies the log's file as it is at one time to `target`, which must not be there, while others write to it: they
 * are not held up, but the write-ahead log cannot be cut back before the copy is done. Nothing that was deleted is in
 * the copy, nor free pages.
 */
export function vacuumCopy(path: string, target: string): void {
  const copy = (db: DatabaseSync) => void db.prepare("VACUUM INTO ?").run(target);
  withDatabase(path, copy, `cannot be copied to ${target}`);
}

/** What SQLite finds wrong with a log's file; null when it is sound. */
export function logFault(path: string): string | null {
  const found = withDatabase(path, (db) => db.prepare("PRAGMA quick_check(1)").get(), "cannot be read");
  const verdict = String(Object.values(found ?? {})[0]);
  return verdict === "ok" ? null : verdict;
}
