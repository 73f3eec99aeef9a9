import type { Decision } from "../../kernel/event/decider.ts";
import type { CopyTaken, ErasureCounts, ErasureEvent } from "./events.ts";
import type { ErasureState } from "./state.ts";

interface Person {
  readonly workspaceId: string;
  readonly recipientHash: string;
}

export function requestErasure(
  state: ErasureState,
  person: Person,
): Decision<"requested" | "alreadyRequested", ErasureEvent> {
  if (state !== null) return { outcome: "alreadyRequested", events: [] };
  return { outcome: "requested", events: [{ type: "ErasureRequested", data: { ...person } }] };
}

/** Notes that everything is gone from what the service shows. Of instances at the same work the first one's word counts. */
export function noteApplied(
  state: ErasureState,
  counts: ErasureCounts,
): Decision<"applied" | "notDue", ErasureEvent> {
  if (state?.status !== "requested") return { outcome: "notDue", events: [] };
  return { outcome: "applied", events: [{ type: "ErasureApplied", data: counts }] };
}

/** What a request has not reached. */
export interface ErasureResidue {
  /** What the service's own disks may still hold, a sentence each. */
  readonly remains: readonly string[];
  /** Copies of the log that were taken before. */
  readonly copies: readonly CopyTaken[];
}

/** Ends a request. */
export function completeErasure(
  state: ErasureState,
  { remains, copies }: ErasureResidue,
): Decision<"completed" | "notDue", ErasureEvent> {
  if (state?.status !== "applied") return { outcome: "notDue", events: [] };
  const data = { remains: [...remains], copies: [...copies] };
  return { outcome: "completed", events: [{ type: "ErasureCompleted", data }] };
}
