import { setPriority } from "node:os";

/** Of a thread that wants a processor all the time, this leaves nine tenths to one that answers requests. */
const BEHIND_REQUESTS = 10;

/**
 * Has the calling thread work with what others leave of the processors: requests first. Only Linux has a priority for each
 * thread; elsewhere it would be that of the whole process.
 */
export function workBehindRequests(): void {
  if (process.platform === "linux") setPriority(BEHIND_REQUESTS);
}
