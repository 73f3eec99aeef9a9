import { existsSync } from "node:fs";
import { resultCodeOf } from "../../adapters/sqlite/resultCode.ts";
import { diskSpaceOf } from "../../adapters/system/diskSpace.ts";
import { isNoRoomError } from "../../kernel/text/systemErrorText.ts";

/** What to do about a full disk. Nothing else helps: another directory would begin an empty log there. */
export const MAKE_ROOM = "make room on the disk";

const SQLITE_IOERR = 10;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;
/** SQLite's text for SQLITE_FULL, which is all that remains of an error of the thread that writes the log. */
const SQLITE_FULL_TEXT = "database or disk is full";
/** SQLite needs a little room even to read. With less than this, other errors come from the full disk too. */
const ROOM_BYTES_MIN = 1_048_576;

/** Whether so little is free that a full disk explains errors that do not name it. */
export function isOutOfRoom(directory: string): boolean {
  return existsSync(directory) && diskSpaceOf(directory).freeBytes() < ROOM_BYTES_MIN;
}

/** Whether an error, or what caused it, comes from the full disk of this directory. */
export function isDiskFull(error: unknown, directory: string): boolean {
  if (!(error instanceof Error)) return false;
  const result = resultCodeOf(error);
  if (isNoRoomError(error) || result === SQLITE_FULL) return true;
  if (error.message.includes(SQLITE_FULL_TEXT)) return true;
  if (result === SQLITE_IOERR || result === SQLITE_CANTOPEN) return isOutOfRoom(directory);
  return isDiskFull(error.cause, directory);
}
