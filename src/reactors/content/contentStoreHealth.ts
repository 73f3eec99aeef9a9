import type { Clock } from "../../ports/clock.ts";
import { type ContentStore, ContentStoreError } from "../../ports/contentStore.ts";
import { breakerProbe } from "../circuitBreaker/breakerProbe.ts";
import { type BreakerFault, CircuitBreaker } from "../circuitBreaker/circuitBreaker.ts";
import { type OutageReport, OutageReports } from "../circuitBreaker/outageReports.ts";
import type { PeriodicWorker } from "../worker/periodicWorker.ts";
import { probeContentStore, reportContentFault } from "./contentStoreProbe.ts";

/** What the content store gives out, and what it takes: a full disk or a lost permission ends only the second. */
export type ContentSide = "reads" | "writes";

interface ContentStoreHealthOptions {
  readonly content: ContentStore;
  readonly clock: Clock;
  readonly tell: (side: ContentSide, report: OutageReport<BreakerFault>) => void;
  readonly onTrouble: (error: unknown) => void;
}

/** What this instance knows about the content store by its own calls. */
export interface ContentStoreHealth {
  /** Deliveries ask it for a permit; other calls are made whatever it says, and add what they find. */
  readonly reads: CircuitBreaker<BreakerFault>;
  readonly writes: CircuitBreaker<BreakerFault>;
  /** The content store itself, for deliveries: what they find they report by their permits. */
  readonly content: ContentStore;
  /** The content store for all others: its reads and writes add what they find. */
  readonly observed: ContentStore;
  /** They ask the content store after trouble when nobody else does. */
  readonly probes: readonly PeriodicWorker[];
}

export function contentStoreHealth(options: ContentStoreHealthOptions): ContentStoreHealth {
  const { content, clock, tell, onTrouble } = options;
  const breakerOf = (side: ContentSide) =>
    new CircuitBreaker(clock, new OutageReports<BreakerFault>(clock, (report) => tell(side, report)));
  const [reads, writes] = [breakerOf("reads"), breakerOf("writes")];
  const probes = [reads, writes].map((breaker) =>
    breakerProbe({
      breaker,
      canEnd: () => true,
      probe: (permit) => probeContentStore(content, permit),
      onTrouble,
    }),
  );
  return { reads, writes, content, observed: observedStore(content, { reads, writes }), probes };
}

type Breaker = CircuitBreaker<BreakerFault>;

function observedStore(content: ContentStore, { reads, writes }: Record<ContentSide, Breaker>): ContentStore {
  const observed: Pick<ContentStore, "get" | "put" | "link" | "writer"> = {
    get: (...given) => learn(reads, () => content.get(...given)),
    put: (...given) => learn(writes, () => content.put(...given)),
    link: (...given) => learn(writes, () => content.link(...given)),
    async writer(folder) {
      const writer = await learnFault(writes, () => content.writer(folder));
      return {
        write: (chunk) => learnFault(writes, () => writer.write(chunk)),
        finish: () => learn(writes, () => writer.finish()),
        abort: () => writer.abort(),
      };
    },
  };
  return Object.assign(Object.create(content) as ContentStore, observed);
}

async function learn<Result>(breaker: Breaker, call: () => Promise<Result>): Promise<Result> {
  const result = await learnFault(breaker, call);
  breaker.witness().success();
  return result;
}

async function learnFault<Result>(breaker: Breaker, call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof ContentStoreError) reportContentFault(breaker.witness(), error);
    throw error;
  }
}
