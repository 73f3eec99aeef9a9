import type { SqlRow } from "../src/ports/readDatabase.ts";

/** A claim without an outcome yet. `id` is what was claimed; `attempt` counts its claims. */
export interface UnfinishedClaim {
  readonly id: string;
  readonly attempt: number;
  readonly leaseMs: number;
  /** The worker that made the claim; null if none is recorded. */
  readonly worker: string | null;
}

/** Reads the claim from a row with `id`, `attempts`, `lease_ms` and `claimed_by`. */
export function unfinishedClaimFromRow({
  id,
  attempts,
  lease_ms: leaseMs,
  claimed_by: worker,
}: SqlRow): UnfinishedClaim {
  return {
    id: String(id),
    attempt: Number(attempts),
    leaseMs: Number(leaseMs),
    worker: worker === null ? null : String(worker),
  };
}
