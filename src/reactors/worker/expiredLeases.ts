import type { Lease } from "../../../projections/lease.ts";
import type { Clock } from "../../ports/clock.ts";

/**
 * Counts each lease from when this process first saw its claim, so it need not trust other machines' clocks. A
 * restart starts all counts again.
 */
export class ExpiredLeases {
  private seen = new Map<string, number>();

  /** `endedWorker` is a worker known to have ended: its leases count as expired at once. Null if there is none. */
  constructor(
    private readonly clock: Clock,
    private readonly endedWorker: string | null,
  ) {}

  /** Of all open claims, those whose lease has run out or whose worker has ended. */
  expired<Claim extends Lease>(leased: readonly Claim[]): readonly Claim[] {
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
