import { limitsOf, type WorkspaceLimits } from "../../domain/workspace/limits.ts";
import type { Services } from "../dependencies.ts";

/** What a workspace may use, no older than a second. Throws `StoreError`. */
export async function workspaceLimits(
  services: Pick<Services, "workspaces" | "limitsDefault">,
  workspaceId: string,
): Promise<WorkspaceLimits> {
  return limitsOf(await services.workspaces.get(workspaceId), services.limitsDefault);
}
