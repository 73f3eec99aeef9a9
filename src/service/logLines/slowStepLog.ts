import type { Logger } from "pino";

/** How long a step of the start may take between two lines, in ms. */
const LINE_EVERY_MS = 3_000;

/** The result of a step of the start. While that takes long it says what is waited for, so that nobody takes it for dead. */
export async function tellingWhileSlow<Result>(
  logger: Pick<Logger, "info">,
  waitsFor: string,
  step: Promise<Result>,
  everyMs = LINE_EVERY_MS,
): Promise<Result> {
  const timer = setInterval(() => logger.info(`still starting: waiting for ${waitsFor}`), everyMs);
  try {
    return await step;
  } finally {
    clearInterval(timer);
  }
}
