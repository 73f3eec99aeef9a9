import { revokeApiKey } from "../../domain/apiKey/decisions.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { apiKeyAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { transact } from "../transact.ts";

/**
 * Revokes a key: within a second it opens nothing on any instance. A context with a workspace reaches that
 * workspace's keys only.
 */
export async function revokeKey(deps: Dependencies, id: string, context: CommandContext) {
  const { workspaceId } = context;
  const outcome = await transact(
    deps.store,
    apiKeyAggregate.of(id),
    (state) => {
      const isForeign = workspaceId !== undefined && state?.workspaceId !== workspaceId;
      return revokeApiKey(isForeign ? null : state);
    },
    context,
  );
  deps.apiKeys.forget(id);
  return outcome;
}
