import { readdirSync, readFileSync } from "node:fs";
import { systemErrorCode } from "../../kernel/text/systemErrorText.ts";

/**
 * How many files and connections this process may have open at once: its soft limit, which Bun raises to the hard one
 * when it starts. Null on systems other than Linux.
 */
export function descriptorLimit(): number | null {
  try {
    const max = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return max === undefined ? null : Number(max);
  } catch {
    return null;
  }
}

/** With fewer free ones than this, a connection that failed a moment ago may have found none. */
const FREE_MIN = 8;

/**
 * Whether this process has hardly a file descriptor left. Bun then says of a connection that it was refused, and of a
 * name that it was not found, so this must be asked before the other side is blamed. False where nobody knows.
 */
export function isOutOfDescriptors(): boolean {
  try {
    const openCount = readdirSync("/proc/self/fd").length;
    const limit = descriptorLimit();
    return limit !== null && openCount > limit - FREE_MIN;
  } catch (error) {
    // To count them takes one, too.
    return systemErrorCode(error) === "EMFILE";
  }
}
