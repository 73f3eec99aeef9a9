import type { RefusalReason } from "../../domain/email/smtpReplyRules.ts";
import { HOUR_MS, MINUTE_MS } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";

/** Why a relay refuses mail for good though nothing is wrong with message or recipient: what its operator can mend. */
export const CORRECTABLE_REASONS = [
  "sender_rejected",
  "relay_refused",
  "authentication_required",
  "policy_rejected",
] as const satisfies readonly RefusalReason[];

export type CorrectableReason = (typeof CORRECTABLE_REASONS)[number];

/** One message that failed so. The relay's words may name people, so the code alone is reported. */
export interface Refusal {
  readonly emailId: string;
  readonly reason: CorrectableReason;
  readonly code: number;
}

/** `failed`: how many there were since the report before, this one among them. */
export interface RelayRefusalReport extends Refusal {
  readonly failed: number;
}

/** Refusals are reported at once, and then once in this time. */
const REPEAT_MS = MINUTE_MS;
/** A refusal is news for `doctor` for so long. */
const RECENT_MS = HOUR_MS;

/** Makes reports of mail that a relay refuses for good for our sake: such mail is lost, and nothing else would say so. */
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

  /** The last refusal; null when there was none lately. */
  get recent(): Refusal | null {
    if (this.last === null || this.clock.monotonicMs() - this.last.at > RECENT_MS) return null;
    return this.last.refusal;
  }
}
