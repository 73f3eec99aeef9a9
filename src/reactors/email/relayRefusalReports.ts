import { LRUCache } from "lru-cache";
import type { RefusalReason } from "../../domain/email/delivery/smtpReplyRules.ts";
import { type EpochMs, HOUR_MS, MINUTE_MS } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";

/** Why a relay permanently refuses mail although message and recipient are fine: what its operator can fix. */
export const CORRECTABLE_REASONS = [
  "sender_rejected",
  "relay_refused",
  "authentication_required",
  "policy_rejected",
] as const satisfies readonly RefusalReason[];

export type CorrectableReason = (typeof CORRECTABLE_REASONS)[number];

/** One message refused like this. The relay's words may name people, so only the code is reported. */
export interface Refusal {
  readonly emailId: string;
  readonly route: MailRoute;
  readonly reason: CorrectableReason;
  readonly code: number;
}

/** A sender and a recipient's domain: what a relay refuses for one, it may take for another. Only kept in memory. */
export type MailRoute = `${string} to ${string}`;

/** `failed` counts the refusals since the last report, including this one. */
export interface RelayRefusalReport extends Refusal {
  readonly failed: number;
}

/** The first refusal is reported at once, later ones at most this often. */
const REPEAT_MS = MINUTE_MS;
/** How long `doctor` mentions a refusal if nothing shows that it is over. */
const RECENT_MS = HOUR_MS;
/** Beyond this many routes, the one that was refused longest ago is forgotten. */
const ROUTES_MAX = 1_000;

/** What was refused lately, of routes on which nothing was sent since. */
export interface RecentRefusals {
  readonly failed: number;
  readonly last: Refusal;
  readonly lastAt: EpochMs;
}

/** Reports mail that a relay refuses for good because of our setup: it is lost, and nothing else would tell. */
export class RelayRefusalReports {
  private failed = 0;
  private reportedAt = Number.NEGATIVE_INFINITY;
  /** By route, the one that was refused last first. */
  private readonly routes: LRUCache<MailRoute, RecentRefusals>;

  constructor(
    private readonly clock: Clock,
    private readonly tell: (report: RelayRefusalReport) => void,
  ) {
    const perf = { now: () => clock.monotonicMs() };
    this.routes = new LRUCache({ max: ROUTES_MAX, ttl: RECENT_MS, ttlResolution: 0, perf });
  }

  refused(refusal: Refusal): void {
    const now = this.clock.monotonicMs();
    this.failed += 1;
    const failed = (this.routes.get(refusal.route)?.failed ?? 0) + 1;
    this.routes.set(refusal.route, { failed, last: refusal, lastAt: this.clock.now() });
    if (now - this.reportedAt < REPEAT_MS) return;
    this.tell({ ...refusal, failed: this.failed });
    this.reportedAt = now;
    this.failed = 0;
  }

  /** The relay has taken a message, so what it refused on this route before is over. */
  sent(route: MailRoute): void {
    this.routes.delete(route);
  }

  /** Null if there was none lately. */
  get recent(): RecentRefusals | null {
    const [newest, ...others] = this.routes.values();
    if (newest === undefined) return null;
    return { ...newest, failed: others.reduce((sum, { failed }) => sum + failed, newest.failed) };
  }
}
