import type { TestStore } from "../support/stores/stores.ts";
import { startService } from "../support/tenants.ts";
import { fuzzInbound, RETURN_PATH_DOMAIN } from "./fuzzInbound.ts";
import { fuzzSubmission } from "./fuzzSubmission.ts";
import { Lane } from "./lane.ts";
import { type Result, Tally } from "./tally.ts";

/** Requests under way at once; each lane waits for its answer. */
const LANES = 16;
const PROGRESS_MS = 250;
/** For each session over SMTP so many requests are made over HTTP. */
const REQUESTS_PER_SESSION = 50;
/** A run that ends at its first finding still makes so many, so that what else it would call a fault shows too. */
const REQUESTS_MIN = 1_000;

/** Of a run that has found over HTTP what it was to find. */
const NO_MAIL: Pick<Result, "submission" | "inbound"> = {
  submission: { sessions: 0, mails: 0, accepted: 0, faults: [] },
  inbound: { sessions: 0, mails: 0, accepted: 0, faults: [] },
};

export interface FuzzOptions {
  readonly store: TestStore;
  readonly requests: number;
  readonly seed: number;
  /** Ends when something was found, with what is under way, and before any mail. */
  readonly untilFound?: boolean;
  readonly onProgress?: (done: number) => void;
}

/** Starts a service, asks it so many times, stops it, and tells what came of it. */
export async function fuzz({
  store,
  requests,
  seed,
  untilFound = false,
  onProgress,
}: FuzzOptions): Promise<Result> {
  // The endpoints that requests register are never called.
  const service = await startService(store, {
    ...{ DELIVERY: "off", SUBMISSION_PORT: "0" },
    ...{ INBOUND_PORT: "0", RETURN_PATH_DOMAIN },
  });
  const tally = new Tally();
  const timer = setInterval(() => onProgress?.(tally.total), PROGRESS_MS);
  try {
    const lanes = Math.min(LANES, requests);
    const share = (lane: number) => Math.floor(requests / lanes) + (lane < requests % lanes ? 1 : 0);
    const isEnough = () => untilFound && tally.hasFound && tally.total >= REQUESTS_MIN;
    await Promise.all(
      Array.from({ length: lanes }, async (_, lane) => {
        const opened = await Lane.open({ service, tally, seed, lane, requests: share(lane), isEnough });
        await opened.run();
      }),
    );
    if (isEnough()) return { ...tally.result(), ...NO_MAIL };
    const sessions = Math.ceil(requests / REQUESTS_PER_SESSION);
    const submission = await fuzzSubmission(service, { sessions, seed });
    const inbound = await fuzzInbound(service, { sessions, seed });
    return { ...tally.result(), submission, inbound };
  } finally {
    clearInterval(timer);
    await service.remove();
  }
}
