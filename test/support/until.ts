const POLL_MS = 5;
/** A condition that asks a service takes some processor time each time, of which what it waits for has need too. */
const POLL_MS_MAX = 20;
const POLL_GROWTH = 1.2;
const TIMEOUT_MS = 20_000;

/** Waits until `condition` holds, looking every few milliseconds; throws with `what` after `timeoutMs`. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what = "a condition",
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  let pollMs = POLL_MS;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await Bun.sleep(pollMs);
    pollMs = Math.min(pollMs * POLL_GROWTH, POLL_MS_MAX);
  }
}
