import {
  changeLimits,
  createWorkspace,
  pauseSending,
  renameWorkspace,
  resumeSending,
} from "../../domain/workspace/decisions.ts";
import {
  type CountedSince,
  pauseAtThreshold,
  type RateThresholds,
} from "../../domain/workspace/sendingRates.ts";
import type { WorkspaceState } from "../../domain/workspace/state.ts";
import type { CommandContext, WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { newId } from "../../kernel/ids.ts";
import { workspaceAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { CHANGES_KEPT_FOR_STOPPING } from "../resourceChangeRateLimit.ts";
import { transact } from "../transact.ts";

/** How often callers may pause and resume a workspace in a day. */
const CHANGES_PER_DAY_MAX = 200;

/** Creates a workspace and returns its id. */
export async function newWorkspace(
  deps: Dependencies,
  name: string,
  context: CommandContext,
): Promise<string> {
  const id = newId();
  await transact(deps.store, workspaceAggregate.of(id), (state) => createWorkspace(state, name), {
    ...context,
    workspaceId: id,
  });
  deps.workspaces.forget(id);
  return id;
}

/** Gives a workspace another name, which shows everywhere within a second. */
export function renameExistingWorkspace(
  deps: Dependencies,
  id: string,
  name: string,
  context: CommandContext,
) {
  const on = { ...context, workspaceId: id };
  return deps.workspaces.transact(id, (state) => renameWorkspace(state, name), on);
}

/** Pauses sending: at once here, within a second everywhere. Queued mail waits. A repeat is no error. */
export function pauseWorkspace(deps: Dependencies, id: string, context: CommandContext) {
  const on = { ...context, workspaceId: id };
  return deps.workspaces.transact(id, (state) => pauseSending(state, on.at), on, {
    changesPerDayMax: CHANGES_PER_DAY_MAX,
  });
}

/** Pauses sending, as {@link pauseWorkspace} does, if a rate is at its threshold. */
export function pauseWorkspaceAtThreshold(
  deps: Pick<Dependencies, "workspaces">,
  counted: CountedSince,
  thresholds: RateThresholds,
  context: WorkspaceCommandContext,
) {
  const decide = (state: WorkspaceState) => pauseAtThreshold(state, counted, thresholds, context.at);
  return deps.workspaces.transact(context.workspaceId, decide, context);
}

/** Resumes sending, including the mail that waited. A repeat is no error. */
export function resumeWorkspace(deps: Dependencies, id: string, context: CommandContext) {
  const changesPerDayMax = CHANGES_PER_DAY_MAX - CHANGES_KEPT_FOR_STOPPING;
  const on = { ...context, workspaceId: id };
  return deps.workspaces.transact(id, (state) => resumeSending(state, on.at), on, { changesPerDayMax });
}

/** Sets limits of the workspace. They apply everywhere within a second. */
export function limitWorkspace(
  deps: Dependencies,
  id: string,
  changes: Parameters<typeof changeLimits>[1],
  context: CommandContext,
) {
  const on = { ...context, workspaceId: id };
  return deps.workspaces.transact(id, (state) => changeLimits(state, changes), on, {
    changesPerDayMax: CHANGES_PER_DAY_MAX,
  });
}
