import { isNearLimit } from "../../domain/quota/nearLimitRule.ts";
import { limitsOf, type WorkspaceLimits } from "../../domain/workspace/workspaceLimits.ts";
import { mailOwnerOf } from "../../kernel/liveOrTestOwner.ts";
import { requireStoreError } from "../../ports/eventStore.ts";
import type { Dependencies } from "../dependencies.ts";
import type { LimitUse, WatchedLimit } from "./limitWatch.ts";

/** A limit that is nearly used up, or is, as it stands now. */
export interface WorkspaceNearLimit extends LimitUse {
  readonly workspaceId: string;
  readonly workspaceName: string;
  readonly isTest: boolean;
}

type UsageDependencies = Pick<
  Dependencies,
  "clock" | "quota" | "storage" | "contentQuota" | "workspaces" | "limitsDefault" | "limitWatch"
>;

const LIMIT_OF: Readonly<
  Record<WatchedLimit, keyof Pick<WorkspaceLimits, "messagesPerDay" | "storageBytes" | "contentBytes">>
> = { daily: "messagesPerDay", storage: "storageBytes", content: "contentBytes" };

/**
 * The limits that this process has seen near their end since its start, and that still are; those of one workspace if it
 * is given. Null while the store does not answer.
 */
export async function nearLimits(
  deps: UsageDependencies,
  workspaceId: string | null = null,
): Promise<readonly WorkspaceNearLimit[] | null> {
  const seen = deps.limitWatch.seen();
  const wanted =
    workspaceId === null ? seen : seen.filter((one) => mailOwnerOf(one.ownerId).workspaceId === workspaceId);
  try {
    const uses = await Promise.all(wanted.map((one) => useNow(deps, one)));
    return uses.filter(({ used, of }) => isNearLimit(used, of));
  } catch (error) {
    requireStoreError(error);
    return null;
  }
}

async function useNow(
  deps: UsageDependencies,
  { limit, ownerId }: Pick<LimitUse, "limit" | "ownerId">,
): Promise<WorkspaceNearLimit> {
  const owner = mailOwnerOf(ownerId);
  const workspace = await deps.workspaces.get(owner.workspaceId);
  const of = limitsOf(workspace, deps.limitsDefault)[LIMIT_OF[limit]];
  const used = await usedOf(deps, limit, ownerId);
  return { limit, ownerId, used, of, ...owner, workspaceName: workspace?.name ?? owner.workspaceId };
}

async function usedOf(deps: UsageDependencies, limit: WatchedLimit, ownerId: string): Promise<number> {
  switch (limit) {
    case "daily":
      return deps.quota.used(ownerId, deps.clock.now());
    case "storage":
      return deps.storage.used(ownerId);
    case "content":
      return deps.contentQuota.used(ownerId);
  }
}
