import { never } from "../../kernel/assert.ts";
import type { Decider } from "../../kernel/decider.ts";
import { type EpochMs, epochMs } from "../../kernel/time.ts";
import type { WorkspaceEvent } from "./events.ts";
import type { WorkspaceLimits } from "./limits.ts";

/** A time during which sending was paused; `to` is null while it lasts. */
export interface Pause {
  readonly from: EpochMs;
  readonly to: EpochMs | null;
}

export interface Workspace {
  readonly name: string;
  readonly paused: boolean;
  readonly pauses: readonly Pause[];
  /** What was set for this workspace itself. */
  readonly limits: Partial<WorkspaceLimits>;
}

/** `null` before the workspace was created. */
export type WorkspaceState = Workspace | null;

function evolveExisting(
  state: Workspace,
  event: Exclude<WorkspaceEvent, { type: "WorkspaceCreated" }>,
): Workspace {
  switch (event.type) {
    case "SendingPaused":
      return {
        ...state,
        paused: true,
        pauses: [...state.pauses, { from: epochMs(event.data.at), to: null }],
      };
    case "SendingResumed": {
      const to = epochMs(event.data.at);
      return {
        ...state,
        paused: false,
        pauses: state.pauses.map((pause) => (pause.to === null ? { ...pause, to } : pause)),
      };
    }
    case "LimitsChanged":
      return { ...state, limits: changedLimits(state.limits, event.data) };
    default:
      return never(event);
  }
}

type Changes = Extract<WorkspaceEvent, { type: "LimitsChanged" }>["data"];

function changedLimits(limits: Workspace["limits"], changes: Changes): Workspace["limits"] {
  const own = Object.entries({ ...limits, ...changes }).filter(([, value]) => value !== null);
  return Object.fromEntries(own);
}

function evolve(state: WorkspaceState, event: WorkspaceEvent): WorkspaceState {
  if (event.type === "WorkspaceCreated")
    return { name: event.data.name, paused: false, pauses: [], limits: {} };
  return state === null ? null : evolveExisting(state, event);
}

export const workspaceDecider: Decider<WorkspaceState, WorkspaceEvent> = { initialState: null, evolve };

/** How much of the time from `since` to `now` the workspace was paused, in ms: it does not age a message. */
export function pausedMs(state: WorkspaceState, since: EpochMs, now: EpochMs): number {
  let total = 0;
  for (const pause of state?.pauses ?? []) {
    total += Math.max(0, Math.min(now, pause.to ?? now) - Math.max(since, pause.from));
  }
  return total;
}
