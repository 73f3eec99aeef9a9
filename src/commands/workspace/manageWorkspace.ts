import {
  changeLimits,
  createWorkspace,
  pauseSending,
  resumeSending,
} from "../../domain/workspace/decisions.ts";
import type { WorkspaceEvent } from "../../domain/workspace/events.ts";
import type { WorkspaceState } from "../../domain/workspace/state.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import type { Decision } from "../../kernel/event/decider.ts";
import { newId } from "../../kernel/ids.ts";
import type { EpochMs } from "../../kernel/time.ts";
import { workspaceAggregate } from "../aggregateDefinitions.ts";
import { CHANGES_KEPT_FOR_STOPPING } from "../dailyChangeLimit.ts";
import type { Dependencies } from "../dependencies.ts";
import { transact } from "../transact.ts";

/** How often callers may pause and resume a workspace in a day. */
const CHANGES_PER_DAY_MAX = 200;

/** Creates a workspace and answers its id. */
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

/** How a decision about a workspace is taken at a time, and how many changes in a day it must not be beyond. */
interface WorkspaceChange<Outcome> {
  readonly decide: (state: WorkspaceState, now: EpochMs) => Decision<Outcome, WorkspaceEvent>;
  readonly changesPerDayMax: number;
}

async function changeWorkspace<Outcome>(
  deps: Dependencies,
  id: string,
  { decide, changesPerDayMax }: WorkspaceChange<Outcome>,
  context: CommandContext,
): Promise<Outcome> {
  const outcome = await transact(
    deps.store,
    {
      ...workspaceAggregate.of(id),
      since: () => deps.workspaces.loaded(id),
      changesPerDayMax,
    },
    (state) => decide(state, context.at),
    { ...context, workspaceId: id },
  );
  deps.workspaces.forget(id);
  return outcome;
}

/** Stops sending: at once here, within a second everywhere. What is queued waits. A repeat is no error. */
export function pauseWorkspace(deps: Dependencies, id: string, context: CommandContext) {
  const change = { decide: pauseSending, changesPerDayMax: CHANGES_PER_DAY_MAX };
  return changeWorkspace(deps, id, change, context);
}

/** Lets sending go on, what waited as well. A repeat is no error. */
export function resumeWorkspace(deps: Dependencies, id: string, context: CommandContext) {
  const changesPerDayMax = CHANGES_PER_DAY_MAX - CHANGES_KEPT_FOR_STOPPING;
  return changeWorkspace(deps, id, { decide: resumeSending, changesPerDayMax }, context);
}

/** Sets what the workspace may use; within a second it holds everywhere. */
export function limitWorkspace(
  deps: Dependencies,
  id: string,
  changes: Parameters<typeof changeLimits>[1],
  context: CommandContext,
) {
  const decide = (state: WorkspaceState) => changeLimits(state, changes);
  return changeWorkspace(deps, id, { decide, changesPerDayMax: CHANGES_PER_DAY_MAX }, context);
}
