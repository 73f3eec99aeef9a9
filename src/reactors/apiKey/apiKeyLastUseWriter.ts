import type { ApiKeyLastUse } from "../../commands/apiKey/apiKeyLastUse.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import { type PeriodicWork, type PeriodicWorker, periodicWorker } from "../worker/periodicWorker.ts";

const INTERVAL_MS = 10 * SECOND_MS;

export interface ApiKeyLastUseWriterOptions extends Pick<PeriodicWork, "onTrouble"> {
  readonly apiKeyLastUse: ApiKeyLastUse;
  readonly actor: string;
}

/** Writes down now and then when keys were used, and once more when it stops. A crash loses some seconds of it. */
export function apiKeyLastUseWriter(options: ApiKeyLastUseWriterOptions): PeriodicWorker {
  const { apiKeyLastUse, actor, onTrouble } = options;
  const write = () => apiKeyLastUse.write(actor);
  const worker = periodicWorker({
    round: write,
    intervalMs: INTERVAL_MS,
    firstDelayMs: INTERVAL_MS,
    onTrouble,
  });
  return {
    ...worker,
    async stop() {
      await worker.stop();
      await write().catch(onTrouble);
    },
  };
}
