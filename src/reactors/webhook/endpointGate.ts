import { LRUCache } from "lru-cache";
import { MINUTE_MS, SECOND_MS } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";

/** Calls to one endpoint that are under way at once. */
const ENDPOINT_IN_FLIGHT_MAX = 5;
/** Calls to endpoints that nothing has got through to lately; the other places are for those that answer. */
const UNPROVEN_IN_FLIGHT_MAX = 500;
/** The breaker looks at this much of the past. */
const WINDOW_MS = 5 * MINUTE_MS;
const WINDOW_CALLS_MIN = 10;
const FAILING_SHARE_MIN = 0.7;
const OPEN_MS = 30 * SECOND_MS;
const ENDPOINTS_MAX = 50_000;

interface Health {
  inFlight: number;
  /** The window's beginning, and what was counted in it. */
  since: number;
  calls: number;
  failures: number;
  /** When the last call got through; null: not that we know. */
  wellAt: number | null;
  /** Open until then; while half open one call at a time finds out. */
  openUntil: number;
  isOpen: boolean;
}

/** How long to leave an endpoint alone: until a call to it ends, or for a time. */
export type GateAnswer =
  | { readonly kind: "enter" }
  | { readonly kind: "full" }
  | { readonly kind: "open"; readonly forMs: number };

/**
 * Keeps one endpoint's trouble to itself: a bound on its calls, a breaker, and few places in all for endpoints
 * that do not answer. In memory, on each instance for itself: a restart forgets it, and learns it again.
 */
export class EndpointGate {
  private readonly endpoints = new LRUCache<string, Health>({ max: ENDPOINTS_MAX });
  private unprovenInFlight = 0;
  /** Endpoints that wait for one of the places of those that are not known to be well. */
  private readonly waiting = new Set<string>();

  constructor(private readonly clock: Clock) {}

  /** Whether a call to this endpoint may begin now. */
  ask(id: string): GateAnswer {
    const health = this.healthOf(id);
    const now = this.clock.monotonicMs();
    if (health.isOpen && now < health.openUntil) return { kind: "open", forMs: health.openUntil - now };
    if (health.inFlight >= (health.isOpen ? 1 : ENDPOINT_IN_FLIGHT_MAX)) return { kind: "full" };
    if (!this.isWell(health, now) && this.unprovenInFlight >= UNPROVEN_IN_FLIGHT_MAX) {
      this.waiting.add(id);
      return { kind: "full" };
    }
    return { kind: "enter" };
  }

  /** Begins a call. What it answers ends it: with whether the call got through, or null when that was not learnt. */
  enter(id: string): (gotThrough: boolean | null) => readonly string[] {
    const health = this.healthOf(id);
    const isUnproven = !this.isWell(health, this.clock.monotonicMs());
    health.inFlight += 1;
    this.waiting.delete(id);
    if (isUnproven) this.unprovenInFlight += 1;
    return (gotThrough) => {
      health.inFlight -= 1;
      if (gotThrough !== null) this.learn(health, gotThrough);
      if (!isUnproven) return [id];
      this.unprovenInFlight -= 1;
      return [id, ...this.nextWaiting()];
    };
  }

  /** As many as there are places: one that no longer has anything to deliver must not keep its place empty. */
  private nextWaiting(): readonly string[] {
    const next: string[] = [];
    for (const id of this.waiting) {
      if (this.unprovenInFlight + next.length >= UNPROVEN_IN_FLIGHT_MAX) break;
      this.waiting.delete(id);
      next.push(id);
    }
    return next;
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
      wellAt: null,
      openUntil: 0,
      isOpen: false,
    };
    this.endpoints.set(id, health);
    return health;
  }

  private isWell({ wellAt }: Health, now: number): boolean {
    return wellAt !== null && now - wellAt < WINDOW_MS;
  }

  private learn(health: Health, gotThrough: boolean): void {
    const now = this.clock.monotonicMs();
    if (gotThrough) {
      health.wellAt = now;
      if (health.isOpen) Object.assign(health, { isOpen: false, since: now, calls: 0, failures: 0 });
    } else if (health.calls - health.failures <= health.calls / 2) {
      // It fails more than it answers: it has to prove itself again.
      health.wellAt = null;
    }
    if (now - health.since > WINDOW_MS) Object.assign(health, { since: now, calls: 0, failures: 0 });
    health.calls += 1;
    if (!gotThrough) health.failures += 1;
    const isFailing = health.failures >= health.calls * FAILING_SHARE_MIN;
    if ((health.isOpen && !gotThrough) || (health.calls >= WINDOW_CALLS_MIN && isFailing)) {
      health.isOpen = true;
      health.openUntil = now + OPEN_MS;
    }
  }
}
