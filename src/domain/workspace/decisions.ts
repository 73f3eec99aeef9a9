import { type Decision, decided } from "../../kernel/event/decider.ts";
import { type EpochMs, rfc3339 } from "../../kernel/time.ts";
import type { WorkspaceEvent } from "./events.ts";
import type { WorkspaceState } from "./state.ts";
import type { WorkspaceLimits } from "./workspaceLimits.ts";

export function createWorkspace(
  state: WorkspaceState,
  name: string,
): Decision<"created" | "alreadyExists", WorkspaceEvent> {
  if (state !== null) return decided("alreadyExists");
  return decided("created", { type: "WorkspaceCreated", data: { name } });
}

/** Gives a workspace another name. The name that it has gives no events. */
export function renameWorkspace(
  state: WorkspaceState,
  name: string,
): Decision<"renamed" | "notFound", WorkspaceEvent> {
  if (state === null) return decided("notFound");
  if (state.name === name) return decided("renamed");
  return decided("renamed", { type: "WorkspaceRenamed", data: { name } });
}

/** Queued mail waits while sending is paused. A repeat gives no events. */
export function pauseSending(
  state: WorkspaceState,
  now: EpochMs,
): Decision<"paused" | "notFound", WorkspaceEvent> {
  if (state === null) return decided("notFound");
  const events = state.paused ? [] : [{ type: "SendingPaused" as const, data: { at: rfc3339(now) } }];
  return { outcome: "paused", events };
}

export function resumeSending(
  state: WorkspaceState,
  now: EpochMs,
): Decision<"resumed" | "notFound", WorkspaceEvent> {
  if (state === null) return decided("notFound");
  const events = state.paused ? [{ type: "SendingResumed" as const, data: { at: rfc3339(now) } }] : [];
  return { outcome: "resumed", events };
}

type Changes = Extract<WorkspaceEvent, { type: "LimitsChanged" }>["data"];

/** Sets limits of this workspace alone; null restores the instance's default. Without a change there are no events. */
export function changeLimits(
  state: WorkspaceState,
  changes: Changes,
): Decision<"changed" | "notFound", WorkspaceEvent> {
  if (state === null) return decided("notFound");
  const news = Object.entries(changes).filter(
    ([name, value]) => (state.limits[name as keyof WorkspaceLimits] ?? null) !== value,
  );
  if (news.length === 0) return decided("changed");
  return decided("changed", { type: "LimitsChanged", data: Object.fromEntries(news) });
}
