import { setPriority } from "node:os";

/** A niceness: a busy thread with it leaves nine tenths of a core to one that answers requests. */
const BEHIND_REQUESTS = 10;

/**
 * Gives the calling thread a lower priority than those that answer requests. Only Linux has a priority per thread;
 * elsewhere this would change the whole process.
 */
export function workBehindRequests(): void {
  if (process.platform === "linux") setPriority(BEHIND_REQUESTS);
}
