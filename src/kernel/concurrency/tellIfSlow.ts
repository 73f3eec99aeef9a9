/** How long to wait without a word, in ms. */
const SILENT_MS_MAX = 3_000;

/** The result of a step. Calls `tell` once if it takes long, so that nobody takes us for dead. */
export async function tellIfSlow<Result>(
  step: Promise<Result>,
  tell: () => void,
  silentMs = SILENT_MS_MAX,
): Promise<Result> {
  const timer = setTimeout(tell, silentMs);
  try {
    return await step;
  } finally {
    clearTimeout(timer);
  }
}
