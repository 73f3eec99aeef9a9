import { until } from "./until.ts";

/**
 * Calls until a call is refused. Returns when the last accepted call started, in ms from now: how long a call takes on
 * a busy machine does not count. Throws with `what` if no call is refused.
 */
export async function lastAcceptedMs(isAccepted: () => Promise<boolean>, what: string): Promise<number> {
  const startedAt = performance.now();
  let lastMs = 0;
  await until(async () => {
    const startedMs = performance.now() - startedAt;
    const wasAccepted = await isAccepted();
    if (wasAccepted) lastMs = startedMs;
    return !wasAccepted;
  }, what);
  return lastMs;
}
