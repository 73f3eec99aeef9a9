import { LRUCache } from "lru-cache";
import { MINUTE_MS, SECOND_MS } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";
import type { AdmissionDecision } from "../worker/claimScheduler.ts";

/** Calls to one endpoint that are under way at once. */
const ENDPOINT_IN_FLIGHT_MAX = 5;
/** The same while nothing has got through to it lately, or not the last time: one that is dead holds one permit. */
const DOUBTFUL_IN_FLIGHT_MAX = 1;
/** A call that takes longer makes its endpoint a slow one. */
const SLOW_MS = 2 * SECOND_MS;
/** Calls to endpoints of a pace that are under way at once. Quick ones may have all the permits there are. */
const PACE_IN_FLIGHT_MAX = { unknown: 300, quick: Number.POSITIVE_INFINITY, slow: 300 } as const;
/** The breaker looks at this much of the past; what is older says nothing of an endpoint's pace either. */
const WINDOW_MS = 5 * MINUTE_MS;
const WINDOW_CALLS_MIN = 10;
const FAILING_SHARE_MIN = 0.7;
const OPEN_MS = 30 * SECOND_MS;
const ENDPOINTS_MAX = 50_000;

/** How long calls to an endpoint hold a permit, which is what they cost the others. */
type RateLimiter = keyof typeof PACE_IN_FLIGHT_MAX;

interface Health {
  inFlight: number;
  /** The window's beginning, and what was counted in it. */
  since: number;
  calls: number;
  failures: number;
  /** Of the last call that ended, and when that was. */
  lastGotThrough: boolean;
  lastTookMs: number;
  lastAt: number;
  /** Open until then; while half open one call at a time finds out. */
  openUntil: number;
  isOpen: boolean;
}

interface Semaphore {
  inFlight: number;
  readonly max: number;
  /** Endpoints that wait for one of them, the first come first. */
  readonly waiting: Set<string>;
}

/**
 * Keeps one endpoint's trouble to itself: a bound on its calls, a breaker, and few permits in all for endpoints
 * that are slow or that nothing is known of. In memory, on each instance for itself: a restart forgets it, and
 * learns it again.
 */
export class EndpointBulkhead {
  private readonly endpoints = new LRUCache<string, Health>({ max: ENDPOINTS_MAX });
  private readonly permits: Readonly<Record<RateLimiter, Semaphore>> = {
    unknown: semaphoreFor("unknown"),
    quick: semaphoreFor("quick"),
    slow: semaphoreFor("slow"),
  };

  constructor(private readonly clock: Clock) {}

  /** Whether a call to this endpoint may begin now; if not, until a call ends, or for how long not. */
  admit(id: string): AdmissionDecision {
    const health = this.healthOf(id);
    const now = this.clock.monotonicMs();
    if (health.isOpen && now < health.openUntil) return { kind: "open", forMs: health.openUntil - now };
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
    const since = this.clock.monotonicMs();
    const health: Health = {
      inFlight: 0,
      since,
      calls: 0,
      failures: 0,
      lastGotThrough: false,
      lastTookMs: 0,
      lastAt: Number.NEGATIVE_INFINITY,
      openUntil: 0,
      isOpen: false,
    };
    this.endpoints.set(id, health);
    return health;
  }

  private learn(health: Health, gotThrough: boolean, startedAt: number): void {
    const now = this.clock.monotonicMs();
    Object.assign(health, { lastGotThrough: gotThrough, lastTookMs: now - startedAt, lastAt: now });
    const isProvenWell = gotThrough && health.isOpen;
    if (isProvenWell) health.isOpen = false;
    if (isProvenWell || now - health.since > WINDOW_MS) {
      Object.assign(health, { since: now, calls: 0, failures: 0 });
    }
    health.calls += 1;
    if (!gotThrough) health.failures += 1;
    const isFailing = health.failures >= health.calls * FAILING_SHARE_MIN;
    // A call that got through shuts nothing, however many failed before it.
    if (!gotThrough && (health.isOpen || (health.calls >= WINDOW_CALLS_MIN && isFailing))) {
      health.isOpen = true;
      health.openUntil = now + OPEN_MS;
    }
  }
}

function semaphoreFor(pace: RateLimiter): Semaphore {
  return { inFlight: 0, max: PACE_IN_FLIGHT_MAX[pace], waiting: new Set() };
}

function boundOf({ isOpen, lastGotThrough }: Health, pace: RateLimiter): number {
  const isDoubtful = isOpen || !lastGotThrough || pace === "unknown";
  return isDoubtful ? DOUBTFUL_IN_FLIGHT_MAX : ENDPOINT_IN_FLIGHT_MAX;
}

function paceOf({ lastAt, lastTookMs }: Health, now: number): RateLimiter {
  if (now - lastAt > WINDOW_MS) return "unknown";
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
