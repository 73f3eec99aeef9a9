import { pauseWorkspace, resumeWorkspace } from "../../commands/workspace/manageWorkspace.ts";
import type { ListSource } from "../lists/caughtUpReads.ts";
import { operationController } from "../server/operationController.ts";
import { commandContextOf, principalOf } from "../server/requestContext.ts";
import { workspaceOperations } from "./workspaceOperations.ts";
import { readWorkspaceWithUsage, whenCounted } from "./workspaceWithUsage.ts";

/** Reading the key's workspace, pausing and resuming its sending. */
export function workspaceController(options: ListSource) {
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
