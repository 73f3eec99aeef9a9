import type { ApiKeyLastUse } from "../../commands/apiKey/apiKeyLastUse.ts";
import { workerActor } from "../../kernel/event/actor.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import { type PeriodicWork, type PeriodicWorker, periodicWorker } from "../worker/periodicWorker.ts";

const INTERVAL_MS = 10 * SECOND_MS;

interface ApiKeyLastUseWriterOptions extends Pick<PeriodicWork, "onTrouble"> {
  readonly apiKeyLastUse: ApiKeyLastUse;
  readonly worker: string;
}

/** Records periodically when keys were used, and once more on stop. A crash loses a few seconds of it. */
export function apiKeyLastUseWriter(options: ApiKeyLastUseWriterOptions): PeriodicWorker {
  const { apiKeyLastUse, worker, onTrouble } = options;
  const write = () => apiKeyLastUse.write(workerActor(worker));
  const writer = periodicWorker({
    round: write,
    intervalMs: INTERVAL_MS,
    firstDelayMs: INTERVAL_MS,
    onTrouble,
  });
  return {
    ...writer,
    async stop() {
      await writer.stop();
      await write().catch(onTrouble);
    },
  };
}
