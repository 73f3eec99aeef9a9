import { setPriority } from "node:os";
import { join } from "node:path";
import { projections } from "../../../projections/index.ts";
import { sqliteReadDatabases } from "../../adapters/sqlite/readModelDatabase.ts";
import { type VerifyResult, verifyReadModels } from "../../readModels/verifyReadModels.ts";
import { openStore } from "../adapters/openStore.ts";
import type { Config } from "../config/config.ts";

/** What the thread is told when it begins. */
export interface VerifyStart extends Pick<Config, "storeUrl" | "storeTimeoutMs" | "dataDir"> {
  readonly logId: string;
}

/** To the thread: begin, or give up. */
export type ToVerifyThread = { readonly start: VerifyStart } | { readonly stop: true };

/** From the thread, as the last thing it says: what it found, or why it could not look. */
export type FromVerifyThread = { readonly results: readonly VerifyResult[] } | { readonly failed: string };

declare const self: Worker;

/** Behind everything else that runs: 19 would be the very last. */
const NICENESS = 10;
/** How much of the time is spent at work: the rest is for others, also where the machine has one core. */
const WORK_SHARE = 1 / 4;
/** Work shorter than this needs no rest yet. */
const WORK_MS_MIN = 20;

/** A rest after some work, so long that work has no more than its share of the time. */
function pacer(): () => Promise<void> {
  let since = performance.now();
  return async () => {
    const workedMs = performance.now() - since;
    if (workedMs < WORK_MS_MIN) return;
    await Bun.sleep(workedMs * (1 / WORK_SHARE - 1));
    since = performance.now();
  };
}

const stopped = new AbortController();

async function verify({ storeUrl, storeTimeoutMs, dataDir, logId }: VerifyStart) {
  // On Linux this is the thread's own priority; elsewhere it would be the whole service's.
  if (process.platform === "linux") setPriority(0, NICENESS);
  const store = await openStore({ storeUrl, storeTimeoutMs });
  const place = { databases: sqliteReadDatabases, directory: join(dataDir, "projections"), logId };
  try {
    return await verifyReadModels({ ...place, store, projections, rest: pacer(), signal: stopped.signal });
  } finally {
    await store.close();
  }
}

const post = (message: FromVerifyThread) => self.postMessage(message);

self.onmessage = ({ data }: MessageEvent<ToVerifyThread>) => {
  if ("stop" in data) stopped.abort();
  else {
    verify(data.start).then(
      (results) => post({ results }),
      (error: unknown) => post({ failed: error instanceof Error ? error.message : String(error) }),
    );
  }
};
