import { type Decision, decided } from "../../kernel/event/decider.ts";
import type { CopyTaken, ErasureCounts, ErasureEvent } from "./events.ts";
import type { ErasureState } from "./state.ts";

interface ErasureRequest {
  readonly workspaceId: string;
  readonly recipientHash: string;
  readonly reference?: string;
}

export function requestErasure(
  state: ErasureState,
  request: ErasureRequest,
): Decision<"requested" | "alreadyRequested", ErasureEvent> {
  if (state !== null) return decided("alreadyRequested");
  return decided("requested", { type: "ErasureRequested", data: { ...request } });
}

/** Records that the service no longer shows anything of the person. The first instance to record it counts. */
export function noteApplied(
  state: ErasureState,
  counts: ErasureCounts,
): Decision<"applied" | "notDue", ErasureEvent> {
  if (state?.status !== "requested") return decided("notDue");
  return decided("applied", { type: "ErasureApplied", data: counts });
}

/** What a request has not reached. */
interface ErasureResidue {
  /** What the service's own disks may still hold, a sentence each. */
  readonly remains: readonly string[];
  /** Copies of the log that were taken before. */
  readonly copies: readonly CopyTaken[];
}

export function completeErasure(
  state: ErasureState,
  { remains, copies }: ErasureResidue,
): Decision<"completed" | "notDue", ErasureEvent> {
  if (state?.status !== "applied") return decided("notDue");
  const data = { remains: [...remains], copies: [...copies] };
  return decided("completed", { type: "ErasureCompleted", data });
}
