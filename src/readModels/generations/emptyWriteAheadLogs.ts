import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { nextTurn } from "../../kernel/concurrency/sleep.ts";
import { ReadDatabaseError, type ReadDatabases } from "../../ports/readDatabase.ts";

/** How often to try a file that somebody is reading or writing, and how long to wait between tries. */
const ATTEMPTS_MAX = 200;
const RETRY_MS = 25;

/**
 * Empties the write-ahead logs of all read models of a directory. No row holds data that a person can have erased,
 * but rows of older versions may have. Returns the logs that could not be emptied, one sentence each.
 */
export async function emptyWriteAheadLogs(
  databases: ReadDatabases,
  directory: string,
): Promise<readonly string[]> {
  if (!existsSync(directory)) return [];
  const remains: string[] = [];
  for (const file of readdirSync(directory).filter((name) => name.endsWith(".db"))) {
    if (!(await emptyLogOf(databases, directory, file))) {
      remains.push(`the write-ahead log of the read model ${file}, which another process keeps open`);
    }
  }
  return remains;
}

async function emptyLogOf(databases: ReadDatabases, directory: string, file: string): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    // The snapshot that this turn's queries share is in the way until the turn ends.
    await nextTurn();
    try {
      // A file that is being built, or was removed meanwhile, has no write-ahead log.
      if (!existsSync(join(directory, `${file}-wal`)) || databases.emptyWriteAheadLog(join(directory, file)))
        return true;
    } catch (error) {
      if (!(error instanceof ReadDatabaseError) || error.failure === "statement") throw error;
    }
    if (attempt === ATTEMPTS_MAX) return false;
    await Bun.sleep(RETRY_MS);
  }
}
