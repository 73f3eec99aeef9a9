import { Elysia } from "elysia";
import { pauseWorkspace, resumeWorkspace } from "../../commands/workspace/manageWorkspace.ts";
import { hooksOf } from "../server/operationHooks.ts";
import { commandContextOf, principalOf } from "../server/requestContext.ts";
import { routes } from "../server/routes.ts";
import { workspaceOperations } from "./workspaceOperations.ts";
import { readWorkspaceWithUsage, type WorkspaceOptions, whenCounted } from "./workspaceWithUsage.ts";

/** Reading the key's workspace, pausing and resuming its sending. */
export function workspaceController(options: WorkspaceOptions) {
  const { deps } = options;
  const hooks = hooksOf(deps, workspaceOperations);
  const shown = (request: Request) => readWorkspaceWithUsage(options, principalOf(request).workspaceId);
  return new Elysia({ normalize: false })
    .get(
      routes.getWorkspace.path,
      async ({ request }) => {
        await whenCounted(options);
        return shown(request);
      },
      hooks("getWorkspace"),
    )
    .post(
      routes.pauseSending.path,
      async ({ request }) => {
        await pauseWorkspace(deps, principalOf(request).workspaceId, commandContextOf(request, deps));
        return shown(request);
      },
      hooks("pauseSending"),
    )
    .post(
      routes.resumeSending.path,
      async ({ request }) => {
        await resumeWorkspace(deps, principalOf(request).workspaceId, commandContextOf(request, deps));
        return shown(request);
      },
      hooks("resumeSending"),
    );
}
