import { projections } from "../../projections/index.ts";
import { LOG_START } from "../../src/ports/eventStore.ts";
import { openStore } from "../../src/service/adapters/openStore.ts";

const STORE_TIMEOUT_MS = 10_000;

/** What reading all that the read models want came to, with no work done. */
export interface LogReading {
  readonly events: number;
  readonly seconds: number;
}

async function readLog(storeUrl: string): Promise<LogReading> {
  const log = await openStore({ storeUrl, storeTimeoutMs: STORE_TIMEOUT_MS });
  const types = [...new Set(projections.flatMap((projection) => projection.events))];
  const startedAt = performance.now();
  let events = 0;
  for await (const batch of log.readAll(LOG_START, { types })) events += batch.events.length;
  const seconds = (performance.now() - startedAt) / 1_000;
  await log.close();
  return { events, seconds };
}

/** In a process of its own, as a rebuild is. */
if (import.meta.main) process.stdout.write(JSON.stringify(await readLog(process.argv[2] ?? "")));
