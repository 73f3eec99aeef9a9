/** The share of time that a paced task works. The rest is for others, even on a machine with one core. */
const WORK_SHARE = 1 / 4;
/** Work shorter than this needs no rest yet. */
const WORK_MS_MIN = 20;

/** Rests after some work, long enough to keep work to its share of the time. */
export function workPacer(): () => Promise<void> {
  let since = performance.now();
  return async () => {
    const workedMs = performance.now() - since;
    if (workedMs < WORK_MS_MIN) return;
    await Bun.sleep(workedMs * (1 / WORK_SHARE - 1));
    since = performance.now();
  };
}
