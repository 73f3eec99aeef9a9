import type { Decision } from "../../kernel/decider.ts";
import { type EpochMs, rfc3339 } from "../../kernel/time.ts";
import type { WorkspaceEvent } from "./events.ts";
import type { WorkspaceState } from "./state.ts";

export function createWorkspace(
  state: WorkspaceState,
  name: string,
): Decision<"created" | "alreadyExists", WorkspaceEvent> {
  if (state !== null) return { outcome: "alreadyExists", events: [] };
  return { outcome: "created", events: [{ type: "WorkspaceCreated", data: { name } }] };
}

/** Queued mail waits while sending is paused. A repeat gives no events. */
export function pauseSending(
  state: WorkspaceState,
  now: EpochMs,
): Decision<"paused" | "notFound", WorkspaceEvent> {
  if (state === null) return { outcome: "notFound", events: [] };
  const events = state.paused ? [] : [{ type: "SendingPaused" as const, data: { at: rfc3339(now) } }];
  return { outcome: "paused", events };
}

export function resumeSending(
  state: WorkspaceState,
  now: EpochMs,
): Decision<"resumed" | "notFound", WorkspaceEvent> {
  if (state === null) return { outcome: "notFound", events: [] };
  const events = state.paused ? [{ type: "SendingResumed" as const, data: { at: rfc3339(now) } }] : [];
  return { outcome: "resumed", events };
}
