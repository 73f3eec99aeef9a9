import { handledStopSignals, statusOf } from "../service/stopSignals.ts";

/**
 * Runs a command that Ctrl-C, SIGTERM and SIGHUP end cleanly: the work's signal aborts, `left` says what remains, and the
 * exit status is what shells use for a signal. A second signal ends the process at once.
 */
export async function interruptible(
  left: string,
  work: (signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const interrupted = new AbortController();
  let status = 0;
  const listeners = handledStopSignals().map((name) => {
    const listener = () => {
      status = statusOf(name);
      interrupted.abort();
    };
    process.once(name, listener);
    return () => process.removeListener(name, listener);
  });
  try {
    return await work(interrupted.signal);
  } catch (error) {
    if (error !== interrupted.signal.reason) throw error;
    process.stderr.write(`postledger: interrupted; ${left}\n`);
    return status;
  } finally {
    for (const remove of listeners) remove();
  }
}
