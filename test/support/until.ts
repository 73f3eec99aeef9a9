/** Between two polls, at least and at most. */
const POLL_MS = { min: 5, max: 100 } as const;
/** Longer waits poll less often, since polling a service takes processor time from the work waited for: by this share. */
const POLL_SHARE = 0.05;
const TIMEOUT_MS = 40_000;
const SETTLING_STEPS = 12;

/** Polls until `condition` holds. Throws with `what` after `timeoutMs`. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what = "a condition",
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  // Not by the time of day, which may be set meanwhile, by a test or by the machine.
  const startedAt = performance.now();
  while (!(await condition())) {
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > timeoutMs) throw new Error(`timed out after ${timeoutMs} ms waiting for ${what}`);
    await Bun.sleep(Math.min(Math.max(POLL_MS.min, waitedMs * POLL_SHARE), POLL_MS.max));
  }
}

/** Waits until `read` returns events of exactly these types, in this order. The error names the types last seen. */
export async function untilTypes(
  read: () => Promise<readonly { readonly type: string }[]>,
  types: readonly string[],
): Promise<void> {
  let seen: readonly string[] = [];
  const hasTypes = async () => {
    seen = (await read()).map(({ type }) => type);
    return seen.join() === types.join();
  };
  await until(hasTypes, types.join(", ")).catch((error: unknown) => {
    throw new Error(`the events were ${seen.join(", ")}`, { cause: error });
  });
}

/** Repeats `step` a dozen times with pauses, so that everything it can trigger has happened. */
export async function settleAfter(step: () => void): Promise<void> {
  let steps = 0;
  await until(() => {
    step();
    steps += 1;
    return steps > SETTLING_STEPS;
  });
}
