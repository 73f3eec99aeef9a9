import type { LeasedEmail } from "../../../projections/due.ts";
import type { Clock } from "../../ports/clock.ts";

/**
 * Counts every lease from when its claim was first seen here: clocks of other machines are not trusted, and
 * after a restart every lease is counted anew.
 */
export class LeaseWatch {
  private seen = new Map<string, number>();

  constructor(private readonly clock: Clock) {}

  /** The claims whose lease has run out, out of all that are under way. */
  expired<Lease extends LeasedEmail>(leased: readonly Lease[]): readonly Lease[] {
    const now = this.clock.monotonicMs();
    const seen = new Map<string, number>();
    const expired = leased.filter((email) => {
      const claim = `${email.id} ${email.attempt}`;
      const since = this.seen.get(claim) ?? now;
      seen.set(claim, since);
      return now - since >= email.leaseMs;
    });
    this.seen = seen;
    return expired;
  }
}
