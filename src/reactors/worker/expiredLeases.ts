import type { OpenClaim } from "../../../projections/openClaims.ts";
import type { Clock } from "../../ports/clock.ts";

/**
 * Counts every lease from when its claim was first seen here: clocks of other machines are not trusted, and
 * after a restart every lease is counted anew.
 */
export class ExpiredLeases {
  private seen = new Map<string, number>();

  constructor(private readonly clock: Clock) {}

  /** The claims whose lease has run out, out of all that are under way. */
  expired<Claim extends OpenClaim>(leased: readonly Claim[]): readonly Claim[] {
    const now = this.clock.monotonicMs();
    const seen = new Map<string, number>();
    const expired = leased.filter((claim) => {
      const name = `${claim.id} ${claim.attempt}`;
      const since = this.seen.get(name) ?? now;
      seen.set(name, since);
      return now - since >= claim.leaseMs;
    });
    this.seen = seen;
    return expired;
  }
}
