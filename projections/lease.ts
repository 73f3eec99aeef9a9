/** The lease of a claim without an outcome yet. `id` is what was claimed; `attempt` counts its claims. */
export interface Lease {
  readonly id: string;
  readonly attempt: number;
  readonly leaseMs: number;
  /** The worker that made the claim; null if none is recorded. */
  readonly worker: string | null;
}

/** The columns of a lease, without its number. */
export const LEASE_COLUMNS = "id, lease_ms AS leaseMs, claimed_by AS worker";
