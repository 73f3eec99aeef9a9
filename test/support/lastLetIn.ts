import { until } from "./until.ts";

/**
 * Asks until nobody is let in any more. Answers when the last call began that was let in, in ms from now: how long a
 * call takes on a busy machine does not count. Throws with `what` when it never ends.
 */
export async function lastLetInMs(isLetIn: () => Promise<boolean>, what: string): Promise<number> {
  const startedAt = performance.now();
  let lastMs = 0;
  await until(async () => {
    const beganMs = performance.now() - startedAt;
    const wasLetIn = await isLetIn();
    if (wasLetIn) lastMs = beganMs;
    return !wasLetIn;
  }, what);
  return lastMs;
}
