import type { TestStore } from "../support/stores/stores.ts";
import { startService } from "../support/tenants.ts";
import { Lane } from "./lane.ts";
import { type Result, Tally } from "./tally.ts";

/** Requests under way at once; each lane waits for its answer. */
const LANES = 16;
const PROGRESS_MS = 250;

export interface FuzzOptions {
  readonly store: TestStore;
  readonly requests: number;
  readonly seed: number;
  readonly onProgress?: (done: number) => void;
}

/** Starts a service, asks it so many times, stops it, and tells what came of it. */
export async function fuzz({ store, requests, seed, onProgress }: FuzzOptions): Promise<Result> {
  // The endpoints that requests register are never called.
  const service = await startService(store, { DELIVERY: "off" });
  const tally = new Tally();
  const timer = setInterval(() => onProgress?.(tally.total), PROGRESS_MS);
  try {
    const lanes = Math.min(LANES, requests);
    const share = (lane: number) => Math.floor(requests / lanes) + (lane < requests % lanes ? 1 : 0);
    await Promise.all(
      Array.from({ length: lanes }, async (_, lane) => {
        const opened = await Lane.open({ service, tally, seed, lane, requests: share(lane) });
        await opened.run();
      }),
    );
    return tally.result();
  } finally {
    clearInterval(timer);
    await service.remove();
  }
}
