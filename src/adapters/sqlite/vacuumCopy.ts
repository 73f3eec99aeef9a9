import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { messageOf } from "../../kernel/text/errorReason.ts";
import { StoreError } from "../../ports/eventStore.ts";

/** The file is locked for longer than a moment only while another process recovers it after a crash. */
const BUSY_TIMEOUT_MS = 10_000;

/** `failing` completes the error message if `work` throws. */
function withDatabase<Result>(
  { path, isImmutable = false }: { readonly path: string; readonly isImmutable?: boolean },
  work: (db: DatabaseSync) => Result,
  failing: string,
): Result {
  const url = pathToFileURL(path);
  if (isImmutable) url.search = "?immutable=1";
  using db = new DatabaseSync(url, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    return work(db);
  } catch (error) {
    // Quote SQLite: a full disk is only one of many possible reasons.
    throw new StoreError("unavailable", `the log ${path} ${failing}: ${messageOf(error)}`, { cause: error });
  }
}

/**
 * Copies a snapshot of the log's file to `target`, which must not exist. Writers are not held up, but the write-ahead
 * log cannot be truncated until the copy is done. The copy contains neither deleted data nor free pages.
 */
export function vacuumCopy(path: string, target: string): void {
  const copy = (db: DatabaseSync) => void db.prepare("VACUUM INTO ?").run(target);
  withDatabase({ path }, copy, `cannot be copied to ${target}`);
}

/**
 * What SQLite finds wrong with a log's file that nobody writes; null if it is sound. Another file beside it, such as a
 * write-ahead log, does not count, and the directory may be read-only.
 */
export function logFault(path: string): string | null {
  const found = withDatabase(
    { path, isImmutable: true },
    (db) => db.prepare("PRAGMA quick_check(1)").get(),
    "cannot be read",
  );
  const verdict = String(Object.values(found ?? {})[0]);
  return verdict === "ok" ? null : verdict;
}
