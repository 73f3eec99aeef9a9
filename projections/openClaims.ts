import type { SqlRow } from "../src/ports/readDatabase.ts";

/** A claim that has no outcome yet. `id` names what is claimed, `attempt` counts its claims. */
export interface OpenClaim {
  readonly id: string;
  readonly attempt: number;
  readonly leaseMs: number;
}

/** The claim of a row with `id`, `attempts` and `lease_ms`. */
export function openClaim(row: SqlRow): OpenClaim {
  return { id: String(row.id), attempt: Number(row.attempts), leaseMs: Number(row.lease_ms) };
}
