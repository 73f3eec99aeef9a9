import { setPriority } from "node:os";

/** A niceness: a busy thread that has it leaves nine tenths of a processor to one that answers requests. */
const BEHIND_REQUESTS = 10;

/**
 * Puts the calling thread behind those that answer requests. Only Linux has a priority for each thread; elsewhere it
 * would be that of the whole process.
 */
export function workBehindRequests(): void {
  if (process.platform === "linux") setPriority(BEHIND_REQUESTS);
}
