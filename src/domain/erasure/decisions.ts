import type { Decision } from "../../kernel/decider.ts";
import type { ErasureCounts, ErasureEvent } from "./events.ts";
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

/** Ends a request, with what the disks may still hold. */
export function completeErasure(
  state: ErasureState,
  remains: readonly string[],
): Decision<"completed" | "notDue", ErasureEvent> {
  if (state?.status !== "applied") return { outcome: "notDue", events: [] };
  return { outcome: "completed", events: [{ type: "ErasureCompleted", data: { remains: [...remains] } }] };
}
