import { pauseWorkspace, resumeWorkspace } from "../../commands/workspace/manageWorkspace.ts";
import type { ListSource } from "../lists/caughtUpReads.ts";
import { operationController } from "../server/operationController.ts";
import { workspaceOperations } from "./workspaceOperations.ts";
import { readWorkspaceWithUsage, whenCounted } from "./workspaceWithUsage.ts";

/** Reading the key's workspace, pausing and resuming its sending. */
export function workspaceController(options: ListSource) {
  const { deps } = options;
  const shown = (workspaceId: string) => readWorkspaceWithUsage(options, workspaceId);
  return operationController(deps, workspaceOperations, {
    getWorkspace: async ({ caller: { workspaceId } }) => {
      await whenCounted(options);
      return shown(workspaceId);
    },
    pauseSending: async ({ caller: { workspaceId, commandContext } }) => {
      await pauseWorkspace(deps, workspaceId, commandContext());
      return shown(workspaceId);
    },
    resumeSending: async ({ caller: { workspaceId, commandContext } }) => {
      await resumeWorkspace(deps, workspaceId, commandContext());
      return shown(workspaceId);
    },
  });
}
