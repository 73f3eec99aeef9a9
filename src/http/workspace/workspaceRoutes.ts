import { pauseWorkspace, resumeWorkspace } from "../../commands/workspace/manageWorkspace.ts";
import { operationController } from "../server/operationController.ts";
import { commandContextOf, principalOf } from "../server/requestContext.ts";
import { workspaceOperations } from "./workspaceOperations.ts";
import { readWorkspaceWithUsage, type WorkspaceOptions, whenCounted } from "./workspaceWithUsage.ts";

/** Reading the key's workspace, pausing and resuming its sending. */
export function workspaceController(options: WorkspaceOptions) {
  const { deps } = options;
  const shown = (request: Request) => readWorkspaceWithUsage(options, principalOf(request).workspaceId);
  return operationController(deps, workspaceOperations, {
    getWorkspace: async ({ request }) => {
      await whenCounted(options);
      return shown(request);
    },
    pauseSending: async ({ request }) => {
      await pauseWorkspace(deps, principalOf(request).workspaceId, commandContextOf(request, deps));
      return shown(request);
    },
    resumeSending: async ({ request }) => {
      await resumeWorkspace(deps, principalOf(request).workspaceId, commandContextOf(request, deps));
      return shown(request);
    },
  });
}
