import { limitsOf, type WorkspaceLimits } from "../../domain/workspace/workspaceLimits.ts";
import type { Dependencies } from "../dependencies.ts";

/** A workspace's limits, at most a second old. Throws `StoreError`. */
export async function readWorkspaceLimits(
  deps: Pick<Dependencies, "workspaces" | "limitsDefault">,
  workspaceId: string,
): Promise<WorkspaceLimits> {
  return limitsOf(await deps.workspaces.get(workspaceId), deps.limitsDefault);
}
