import { never } from "../../kernel/assert.ts";
import type { Decider } from "../../kernel/event/decider.ts";
import { coveredMs, type EpochMs, epochMs, type TimeSpan } from "../../kernel/time.ts";
import type { PauseRate, WorkspaceEvent } from "./events.ts";
import type { WorkspaceLimits } from "./workspaceLimits.ts";

export interface Workspace {
  readonly name: string;
  readonly paused: boolean;
  /** Why the service itself has paused it; null while it is not paused, or if somebody asked for it. */
  readonly pauseRate: PauseRate | null;
  /** When somebody last ended such a pause; null if nobody has. */
  readonly rateResumedAt: EpochMs | null;
  /** The times during which sending was paused. */
  readonly pauses: readonly TimeSpan[];
  /** The limits set for this workspace alone. */
  readonly limits: Partial<WorkspaceLimits>;
}

/** `null` before the workspace was created. */
export type WorkspaceState = Workspace | null;

function evolveExisting(
  state: Workspace,
  event: Exclude<WorkspaceEvent, { type: "WorkspaceCreated" }>,
): Workspace {
  switch (event.type) {
    case "WorkspaceRenamed":
      return { ...state, name: event.data.name };
    case "SendingPaused":
      return {
        ...state,
        paused: true,
        pauseRate: event.data.rate ?? null,
        pauses: [...state.pauses, { from: epochMs(event.data.at), to: null }],
      };
    case "SendingResumed": {
      const to = epochMs(event.data.at);
      return {
        ...state,
        paused: false,
        pauseRate: null,
        rateResumedAt: state.pauseRate === null ? state.rateResumedAt : to,
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

function newWorkspace(name: string): Workspace {
  return { name, paused: false, pauseRate: null, rateResumedAt: null, pauses: [], limits: {} };
}

function evolve(state: WorkspaceState, event: WorkspaceEvent): WorkspaceState {
  if (event.type === "WorkspaceCreated") return newWorkspace(event.data.name);
  return state === null ? null : evolveExisting(state, event);
}

export const workspaceDecider: Decider<WorkspaceState, WorkspaceEvent> = { initialState: null, evolve };

/** Since when sending is paused; null while it is not. */
export function pausedSince(state: WorkspaceState): EpochMs | null {
  return state?.pauses.find(({ to }) => to === null)?.from ?? null;
}

/**
 * How long sending was paused between `since` and `now`, in ms. That time does not age a message. `downtimes`: when the
 * whole log was stopped.
 */
export function pausedMs(
  state: WorkspaceState,
  since: EpochMs,
  now: EpochMs,
  downtimes: readonly TimeSpan[] = [],
): number {
  return coveredMs([...(state?.pauses ?? []), ...downtimes], since, now);
}
