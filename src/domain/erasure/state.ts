import { never } from "../../kernel/assert.ts";
import type { Decider } from "../../kernel/event/decider.ts";
import type { CopyTaken, ErasureCounts, ErasureEvent, ErasureStatus } from "./events.ts";

export interface Erasure {
  readonly status: ErasureStatus;
  readonly workspaceId: string;
  readonly recipientHash: string;
  /** What the operator files it under; null if nothing was given. */
  readonly reference: string | null;
  /** Null until it is applied. */
  readonly counts: ErasureCounts | null;
  /** Null until it is completed. */
  readonly remains: readonly string[] | null;
  /** Copies of the log taken before it was completed; null until then. */
  readonly copies: readonly CopyTaken[] | null;
}

/** `null` before it was requested. */
export type ErasureState = Erasure | null;

function evolve(state: ErasureState, event: ErasureEvent): ErasureState {
  if (event.type === "ErasureRequested") {
    const { workspaceId, recipientHash, reference = null } = event.data;
    const nothing = { counts: null, remains: null, copies: null };
    return { status: "requested", workspaceId, recipientHash, reference, ...nothing };
  }
  if (state === null) return null;
  switch (event.type) {
    case "ErasureApplied":
      return { ...state, status: "applied", counts: event.data };
    case "ErasureCompleted":
      return { ...state, status: "completed", remains: event.data.remains, copies: event.data.copies ?? [] };
    default:
      return never(event);
  }
}

export const erasureDecider: Decider<ErasureState, ErasureEvent> = { initialState: null, evolve };
