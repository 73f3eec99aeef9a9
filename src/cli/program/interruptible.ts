import { handleStopSignals, statusOf } from "../service/stopSignals.ts";

/**
 * Runs a command that Ctrl-C, SIGTERM and SIGHUP end cleanly: the work's signal aborts, `left` says what remains, and the
 * exit status is what shells use for a signal. A second signal ends the process at once, unless it follows so soon that
 * {@link handleStopSignals} counts it as part of the first.
 */
export async function interruptible(
  left: string,
  work: (signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const interrupted = new AbortController();
  let status = 0;
  using _signals = handleStopSignals({
    drain(signal) {
      status = statusOf(signal);
      interrupted.abort();
    },
  });
  try {
    return await work(interrupted.signal);
  } catch (error) {
    if (error !== interrupted.signal.reason) throw error;
    process.stderr.write(`postledger: interrupted; ${left}\n`);
    return status;
  }
}
