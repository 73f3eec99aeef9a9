import { readFileSync } from "node:fs";

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
