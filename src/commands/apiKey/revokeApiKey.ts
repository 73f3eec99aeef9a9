import { revokeApiKey } from "../../domain/apiKey/decisions.ts";
import type { ApiKeyState } from "../../domain/apiKey/state.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import type { Dependencies } from "../dependencies.ts";

/** Revokes a key, within a second on every instance. A context with a workspace reaches only that workspace's keys. */
export function revokeKey({ apiKeys }: Dependencies, id: string, context: CommandContext) {
  const { workspaceId } = context;
  const decide = (state: ApiKeyState) => {
    const isForeign = workspaceId !== undefined && state?.workspaceId !== workspaceId;
    return revokeApiKey(isForeign ? null : state);
  };
  return apiKeys.transact(id, decide, context);
}
