const POLL_MS = 5;
const TIMEOUT_MS = 20_000;

/** Waits until `condition` holds, looking every few milliseconds; throws with `what` after `timeoutMs`. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what = "a condition",
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await Bun.sleep(POLL_MS);
  }
}
