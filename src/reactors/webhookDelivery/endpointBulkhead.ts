import { LRUCache } from "lru-cache";
import { MINUTE_MS, SECOND_MS } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";
import type { AdmissionDecision } from "../worker/claimScheduler.ts";
import { EndpointCircuitBreaker } from "./endpointCircuitBreaker.ts";

/** Calls to one endpoint that are under way at once. */
const ENDPOINT_IN_FLIGHT_MAX = 5;
/** The same while nothing has got through to it lately, or not the last time: one that is dead holds one permit. */
const DOUBTFUL_IN_FLIGHT_MAX = 1;
/** A call that takes longer makes its endpoint a slow one. */
const SLOW_MS = 2 * SECOND_MS;
/** Calls to endpoints of a pace that are under way at once. Quick ones may have all the permits there are. */
const PACE_IN_FLIGHT_MAX = { unknown: 300, quick: Number.POSITIVE_INFINITY, slow: 300 } as const;
/** What is older says nothing of an endpoint's pace. */
const PACE_KNOWN_MS = 5 * MINUTE_MS;
const ENDPOINTS_MAX = 50_000;

/** How long calls to an endpoint hold a permit, which is what they cost the others. */
type Pace = keyof typeof PACE_IN_FLIGHT_MAX;

interface Health {
  readonly breaker: EndpointCircuitBreaker;
  inFlight: number;
  /** Of the last call that ended, and when that was. */
  lastGotThrough: boolean;
  lastTookMs: number;
  lastAt: number;
}

interface Semaphore {
  inFlight: number;
  readonly max: number;
  /** Endpoints that wait for one of them, the first come first. */
  readonly waiting: Set<string>;
}

/**
 * Keeps one endpoint's trouble to itself: a bound on its calls, a circuit breaker, and few permits in all for endpoints
 * that are slow or that nothing is known of. In memory, on each instance for itself: a restart forgets it, and
 * learns it again.
 */
export class EndpointBulkhead {
  private readonly endpoints = new LRUCache<string, Health>({ max: ENDPOINTS_MAX });
  private readonly permits: Readonly<Record<Pace, Semaphore>> = {
    unknown: semaphoreFor("unknown"),
    quick: semaphoreFor("quick"),
    slow: semaphoreFor("slow"),
  };

  constructor(private readonly clock: Clock) {}

  /** Whether a call to this endpoint may begin now; if not, until a call ends, or for how long not. */
  admit(id: string): AdmissionDecision {
    const health = this.healthOf(id);
    const now = this.clock.monotonicMs();
    const forMs = health.breaker.openForMs(now);
    if (forMs > 0) return { kind: "open", forMs };
    const pace = paceOf(health, now);
    if (health.inFlight >= boundOf(health, pace)) return { kind: "full" };
    const permits = this.permits[pace];
    if (permits.inFlight < permits.max) return { kind: "admitted" };
    permits.waiting.add(id);
    return { kind: "full" };
  }

  /**
   * Begins a call. What it answers ends it: with whether the call got through, or null when that was not learnt;
   * it answers the endpoints that may have a permit now.
   */
  beginCall(id: string): (gotThrough: boolean | null) => readonly string[] {
    const health = this.healthOf(id);
    const startedAt = this.clock.monotonicMs();
    const permits = this.permits[paceOf(health, startedAt)];
    health.inFlight += 1;
    permits.inFlight += 1;
    for (const { waiting } of Object.values(this.permits)) waiting.delete(id);
    return (gotThrough) => {
      health.inFlight -= 1;
      permits.inFlight -= 1;
      if (gotThrough !== null) this.learn(health, gotThrough, startedAt);
      return [id, ...nextWaiting(permits)];
    };
  }

  private healthOf(id: string): Health {
    const known = this.endpoints.get(id);
    if (known) return known;
    const health: Health = {
      breaker: new EndpointCircuitBreaker(this.clock.monotonicMs()),
      inFlight: 0,
      lastGotThrough: false,
      lastTookMs: 0,
      lastAt: Number.NEGATIVE_INFINITY,
    };
    this.endpoints.set(id, health);
    return health;
  }

  private learn(health: Health, gotThrough: boolean, startedAt: number): void {
    const now = this.clock.monotonicMs();
    Object.assign(health, { lastGotThrough: gotThrough, lastTookMs: now - startedAt, lastAt: now });
    health.breaker.record(gotThrough, now);
  }
}

function semaphoreFor(pace: Pace): Semaphore {
  return { inFlight: 0, max: PACE_IN_FLIGHT_MAX[pace], waiting: new Set() };
}

function boundOf({ breaker, lastGotThrough }: Health, pace: Pace): number {
  const isDoubtful = breaker.isOpen || !lastGotThrough || pace === "unknown";
  return isDoubtful ? DOUBTFUL_IN_FLIGHT_MAX : ENDPOINT_IN_FLIGHT_MAX;
}

function paceOf({ lastAt, lastTookMs }: Health, now: number): Pace {
  if (now - lastAt > PACE_KNOWN_MS) return "unknown";
  return lastTookMs > SLOW_MS ? "slow" : "quick";
}

/** As many as there are permits: one that no longer has anything to deliver must not keep its permit unused. */
function nextWaiting(permits: Semaphore): readonly string[] {
  const next: string[] = [];
  for (const id of permits.waiting) {
    // When nothing is in flight that could release them later, all are released.
    if (permits.inFlight > 0 && permits.inFlight + next.length >= permits.max) break;
    permits.waiting.delete(id);
    next.push(id);
  }
  return next;
}
