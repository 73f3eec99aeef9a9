import type { OpenClaim } from "../../../projections/claimOfRow.ts";
import type { Clock } from "../../ports/clock.ts";

/**
 * Counts every lease from when its claim was first seen here: clocks of other machines are not trusted, and
 * after a restart every lease is counted anew.
 */
export class ExpiredLeases {
  private seen = new Map<string, number>();

  /** `endedWorker`: a worker that is known to have ended, so that nobody has to wait for its leases; null: of none. */
  constructor(
    private readonly clock: Clock,
    private readonly endedWorker: string | null,
  ) {}

  /** The claims whose lease has run out, or whose worker has ended, out of all that are under way. */
  expired<Claim extends OpenClaim>(leased: readonly Claim[]): readonly Claim[] {
    const now = this.clock.monotonicMs();
    const seen = new Map<string, number>();
    const expired = leased.filter((claim) => {
      const name = `${claim.id} ${claim.attempt}`;
      const since = this.seen.get(name) ?? now;
      seen.set(name, since);
      const hasEnded = claim.worker !== null && claim.worker === this.endedWorker;
      return hasEnded || now - since >= claim.leaseMs;
    });
    this.seen = seen;
    return expired;
  }
}
