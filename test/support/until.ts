const POLL_MS = 5;
/** Whoever waits longer looks less often: asking a service takes processor time from what it is asked for. */
const LATER_POLL_MS = 20;
const QUICK_POLLS = 40;
const TIMEOUT_MS = 20_000;

/** Waits until `condition` holds, looking every few milliseconds; throws with `what` after `timeoutMs`. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what = "a condition",
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  for (let polls = 1; !(await condition()); polls += 1) {
    if (Date.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await Bun.sleep(polls <= QUICK_POLLS ? POLL_MS : LATER_POLL_MS);
  }
}
