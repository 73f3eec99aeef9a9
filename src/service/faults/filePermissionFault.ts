import { accessSync, constants, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { resultCodeOf } from "../../adapters/sqlite/resultCode.ts";
import { systemErrorCode } from "../../kernel/text/systemErrorText.ts";

const SQLITE_READONLY = 8;
const SQLITE_CANTOPEN = 14;

/** Whether an error, or what caused it, may come from the rights of a file. SQLite does not say so itself. */
function isAboutAccess(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const result = resultCodeOf(error);
  return (
    isRefusal(error) || result === SQLITE_READONLY || result === SQLITE_CANTOPEN || isAboutAccess(error.cause)
  );
}

function isRefusal(error: unknown): boolean {
  const code = systemErrorCode(error);
  return code === "EACCES" || code === "EPERM";
}

/** Whether `look` is refused for want of rights. */
function isRefused(look: () => unknown): boolean {
  try {
    look();
    return false;
  } catch (error) {
    return isRefusal(error);
  }
}

/** Whether this user may not read and write what is at the path, or not even see whether something is. */
function isClosed(path: string): boolean {
  return isRefused(() => {
    const isDirectory = statSync(path).isDirectory();
    accessSync(path, constants.R_OK | constants.W_OK | (isDirectory ? constants.X_OK : 0));
  });
}

/** The user id that owns what is at the path; null if it cannot be seen, or on a system without user ids. */
function ownerOf(path: string): number | null {
  if (process.getuid === undefined || isRefused(() => statSync(path))) return null;
  return statSync(path).uid;
}

/** Whether a directory is there and has no files. */
function isEmpty(directory: string): boolean {
  try {
    return readdirSync(directory).length === 0;
  } catch {
    return false;
  }
}

/**
 * Which file of a data directory this user may not use, and what to do. Never to name another directory: that would
 * begin an empty log there. Null for an error that the rights do not explain, and for a directory without files.
 */
export function filePermissionFault(
  error: unknown,
  directory: string,
  names: readonly string[],
): string | null {
  if (!isAboutAccess(error) || isEmpty(directory)) return null;
  const closed = [directory, ...names.map((name) => join(directory, name))].find(isClosed);
  if (closed === undefined) return null;
  const [owner, self] = [ownerOf(closed), process.getuid?.() ?? null];
  const what = `this user (uid ${self}) may not read and write ${closed}`;
  const advice = "Another directory would begin an empty log";
  if (owner === null) return `${what}. Run this as the user who owns ${directory}. ${advice}`;
  if (owner === self)
    return `${what}, although it is this user's. To do: chmod -R u+rwX ${directory}. ${advice}`;
  return `${what}, which belongs to uid ${owner}. Run this as that user; or, if the service is to run as this one: chown -R ${self} ${directory}. ${advice}`;
}
