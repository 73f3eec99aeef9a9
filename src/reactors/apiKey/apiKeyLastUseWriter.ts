import type { ApiKeyLastUse } from "../../commands/apiKey/apiKeyLastUse.ts";
import { settleWithin } from "../../kernel/concurrency/sleep.ts";
import { workerActor } from "../../kernel/event/actor.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import { type PeriodicWork, type PeriodicWorker, periodicWorker } from "../worker/periodicWorker.ts";

const INTERVAL_MS = 10 * SECOND_MS;
/** How long a stop waits for the last write: the store may be away. */
const LAST_WRITE_MS_MAX = 500;

interface ApiKeyLastUseWriterOptions extends Pick<PeriodicWork, "onTrouble"> {
  readonly apiKeyLastUse: ApiKeyLastUse;
  readonly worker: string;
}

/**
 * Records periodically when keys were used, and once more on stop. A crash loses a few seconds of it, and so does a stop
 * that the store keeps waiting.
 */
export function apiKeyLastUseWriter(options: ApiKeyLastUseWriterOptions): PeriodicWorker {
  const { apiKeyLastUse, worker, onTrouble } = options;
  const write = (stopping: AbortSignal) => apiKeyLastUse.write(workerActor(worker), stopping);
  const writer = periodicWorker({
    round: ({ stopping }) => write(stopping),
    intervalMs: INTERVAL_MS,
    firstDelayMs: INTERVAL_MS,
    onTrouble,
  });
  return {
    ...writer,
    async stop() {
      const isLate = new AbortController();
      const written = writer.stop().then(() => write(isLate.signal));
      await settleWithin(LAST_WRITE_MS_MAX, written.catch(onTrouble), () => isLate.abort());
    },
  };
}
