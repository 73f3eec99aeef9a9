import type { SqlRow } from "../src/ports/readDatabase.ts";

/** A claim that has no outcome yet. `id` names what is claimed, `attempt` counts its claims. */
export interface OpenClaim {
  readonly id: string;
  readonly attempt: number;
  readonly leaseMs: number;
  /** Who made it; null where nobody has. */
  readonly worker: string | null;
}

/** The claim of a row with `id`, `attempts`, `lease_ms` and `claimed_by`. */
export function claimOfRow({ id, attempts, lease_ms: leaseMs, claimed_by: worker }: SqlRow): OpenClaim {
  return {
    id: String(id),
    attempt: Number(attempts),
    leaseMs: Number(leaseMs),
    worker: worker === null ? null : String(worker),
  };
}
