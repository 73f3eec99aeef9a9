const POLL_MS = 5;
/** Whoever waits longer looks less often: asking a service takes processor time from what it is asked for. */
const LATER_POLL_MS = 20;
const QUICK_POLLS = 40;
const TIMEOUT_MS = 20_000;
const SETTLING_STEPS = 12;

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

/** Waits until the events that `read` answers are of exactly these types, in this order; says what they were if not. */
export async function untilTypes(
  read: () => Promise<readonly { readonly type: string }[]>,
  types: readonly string[],
): Promise<void> {
  let seen: readonly string[] = [];
  const isThere = async () => {
    seen = (await read()).map(({ type }) => type);
    return seen.join() === types.join();
  };
  await until(isThere, types.join(", ")).catch((error: unknown) => {
    throw new Error(`the events were ${seen.join(", ")}`, { cause: error });
  });
}

/** Takes a step a dozen times, a moment apart: whatever could follow has followed by then. */
export async function settleAfter(step: () => void): Promise<void> {
  let steps = 0;
  await until(() => {
    step();
    steps += 1;
    return steps > SETTLING_STEPS;
  });
}
