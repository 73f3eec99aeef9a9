import { LRUCache } from "lru-cache";
import { MINUTE_MS, SECOND_MS } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";
import type { AdmissionDecision } from "../worker/claimScheduler.ts";
import { EndpointCircuitBreaker } from "./endpointCircuitBreaker.ts";

/** Concurrent calls to an endpoint while none has succeeded lately, or the last failed: a dead one holds one permit. */
const DOUBTFUL_IN_FLIGHT_MAX = 1;
/** An endpoint is slow when its last call took longer. */
const SLOW_MS = 2 * SECOND_MS;
/** Concurrent calls to all endpoints of a pace. Quick endpoints may hold every permit. */
const PACE_IN_FLIGHT_MAX = { unknown: 300, quick: Number.POSITIVE_INFINITY, slow: 300 } as const;
/** How long the last call tells an endpoint's pace. */
const PACE_KNOWN_MS = 5 * MINUTE_MS;
const ENDPOINTS_MAX = 50_000;

/** How long calls to an endpoint hold a permit, which is what they cost other endpoints. */
type Pace = keyof typeof PACE_IN_FLIGHT_MAX;

interface Health {
  readonly breaker: EndpointCircuitBreaker;
  inFlight: number;
  /** About the last call that ended. */
  lastGotThrough: boolean;
  lastTookMs: number;
  lastAt: number;
}

interface Semaphore {
  inFlight: number;
  readonly max: number;
  /** Endpoints waiting for a permit, in order of arrival. */
  readonly waiting: Set<string>;
}

/**
 * Isolates a troubled endpoint from the others: a limit on its calls, a circuit breaker, and few permits overall for
 * endpoints that are slow or unknown. Each instance keeps this in memory and learns it again after a restart.
 */
export class EndpointBulkhead {
  private readonly endpoints = new LRUCache<string, Health>({ max: ENDPOINTS_MAX });
  private readonly permits: Readonly<Record<Pace, Semaphore>> = {
    unknown: semaphoreFor("unknown"),
    quick: semaphoreFor("quick"),
    slow: semaphoreFor("slow"),
  };

  /** `callsPerEndpointMax`: concurrent calls to one endpoint that answers. */
  constructor(
    private readonly clock: Clock,
    private readonly callsPerEndpointMax: number,
  ) {}

  /** Whether a call to this endpoint may begin now; if not, whether after the next call ends or after `forMs`. */
  admit(id: string): AdmissionDecision {
    const health = this.healthOf(id);
    const now = this.clock.monotonicMs();
    const forMs = health.breaker.openForMs(now);
    if (forMs > 0) return { kind: "open", forMs };
    const pace = paceOf(health, now);
    const max = isDoubtful(health, pace) ? DOUBTFUL_IN_FLIGHT_MAX : this.callsPerEndpointMax;
    if (health.inFlight >= max) return { kind: "full" };
    const permits = this.permits[pace];
    if (permits.inFlight < permits.max) return { kind: "admitted" };
    permits.waiting.add(id);
    return { kind: "full" };
  }

  /**
   * Begins a call and returns the function that ends it. That takes whether the call got through, or null if unknown,
   * and returns the endpoints that may get a permit now.
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

function isDoubtful({ breaker, lastGotThrough }: Health, pace: Pace): boolean {
  return breaker.isOpen || !lastGotThrough || pace === "unknown";
}

function paceOf({ lastAt, lastTookMs }: Health, now: number): Pace {
  if (now - lastAt > PACE_KNOWN_MS) return "unknown";
  return lastTookMs > SLOW_MS ? "slow" : "quick";
}

/** The next endpoints, one for each free permit: one with nothing left to deliver must not leave its permit unused. */
function nextWaiting(permits: Semaphore): readonly string[] {
  const next: string[] = [];
  for (const id of permits.waiting) {
    // If nothing is in flight, no call will end to release the rest, so release them all.
    if (permits.inFlight > 0 && permits.inFlight + next.length >= permits.max) break;
    permits.waiting.delete(id);
    next.push(id);
  }
  return next;
}
