import { projections } from "../../../projections/index.ts";
import type { ReadModelBuild } from "../../http/dashboard/frame/dashboardOptions.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";
import { type EventStore, LOG_START } from "../../ports/eventStore.ts";
import { behindSince } from "../../readModels/behindSince.ts";
import { logReadFraction } from "../../readModels/logReadProgress.ts";
import type { ReaderStatus, Readers } from "../../readModels/readModelReaders.ts";

/** Read models that lack nothing older than this count as caught up. */
const CAUGHT_UP_LAG_MS = 5 * SECOND_MS;
/** How long to reuse a result, because a look reads the log. */
const POLL_INTERVAL_MS = SECOND_MS;

/** How far read models are that are being built; `done` from 0 to 1. */
export function beingBuilt(done: number): string {
  return `being built: ${Math.floor(done * 100)}% of the log is read`;
}

interface BuildOptions {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly readers: Pick<Readers, "status">;
}

/**
 * Progress of the read models that lack more than the latest events, for instance after the first start on a large
 * log. Null, at no cost, while all are caught up.
 */
export function readModelBuild({
  store,
  clock,
  readers,
}: BuildOptions): () => Promise<ReadModelBuild | null> {
  let last: Promise<ReadModelBuild | null> = Promise.resolve(null);
  let goodUntil = Number.NEGATIVE_INFINITY;
  return () => {
    const late = readers.status().filter(({ isCaughtUp, state }) => !isCaughtUp && state !== "failed");
    if (late.length === 0) return Promise.resolve(null);
    if (clock.monotonicMs() < goodUntil) return last;
    goodUntil = clock.monotonicMs() + POLL_INTERVAL_MS;
    // A store that does not answer is reported elsewhere.
    last = lookAt({ store, clock }, late).catch(() => null);
    return last;
  };
}

async function lookAt(
  { store, clock }: Pick<BuildOptions, "store" | "clock">,
  late: readonly ReaderStatus[],
): Promise<ReadModelBuild | null> {
  const position = late.map((model) => model.position).sort()[0] ?? LOG_START;
  const names = new Set(late.map(({ name }) => name));
  const events = [...new Set(projections.flatMap((model) => (names.has(model.name) ? model.events : [])))];
  const since = await behindSince(store, { events }, position);
  if (since === null || since === "unknown") return null;
  const lagMs = clock.now() - since;
  return lagMs < CAUGHT_UP_LAG_MS
    ? null
    : { lagMs, done: logReadFraction({ position, head: await store.head() }) };
}
