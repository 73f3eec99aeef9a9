import type { RefusalReason } from "../../domain/email/delivery/smtpReplyRules.ts";
import { HOUR_MS, MINUTE_MS } from "../../kernel/time.ts";
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
  readonly reason: CorrectableReason;
  readonly code: number;
}

/** `failed` counts the refusals since the last report, including this one. */
export interface RelayRefusalReport extends Refusal {
  readonly failed: number;
}

/** The first refusal is reported at once, later ones at most this often. */
const REPEAT_MS = MINUTE_MS;
/** How long `doctor` mentions a refusal. */
const RECENT_MS = HOUR_MS;

/** Reports mail that a relay refuses for good because of our setup: it is lost, and nothing else would tell. */
export class RelayRefusalReports {
  private failed = 0;
  private reportedAt = Number.NEGATIVE_INFINITY;
  private last: { readonly refusal: Refusal; readonly at: number } | null = null;

  constructor(
    private readonly clock: Pick<Clock, "monotonicMs">,
    private readonly tell: (report: RelayRefusalReport) => void,
  ) {}

  refused(refusal: Refusal): void {
    const now = this.clock.monotonicMs();
    this.failed += 1;
    this.last = { refusal, at: now };
    if (now - this.reportedAt < REPEAT_MS) return;
    this.tell({ ...refusal, failed: this.failed });
    this.reportedAt = now;
    this.failed = 0;
  }

  /** The last refusal; null if there was none lately. */
  get recent(): Refusal | null {
    if (this.last === null || this.clock.monotonicMs() - this.last.at > RECENT_MS) return null;
    return this.last.refusal;
  }
}
