import { renameApiKey } from "../../domain/apiKey/decisions.ts";
import { apiKeyStream } from "../../domain/apiKey/events.ts";
import type { ApiKeyState } from "../../domain/apiKey/state.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import type { Dependencies } from "../dependencies.ts";

const RENAMES_PER_DAY_MAX = 20;

/**
 * Gives a key another name. A context with a workspace reaches only that workspace's keys. Throws `ChangeRateError`
 * after too many renames; rotations are counted separately.
 */
export function renameKey({ apiKeys }: Dependencies, id: string, name: string, context: CommandContext) {
  const { workspaceId } = context;
  const decide = (state: ApiKeyState) => {
    const isForeign = workspaceId !== undefined && state?.workspaceId !== workspaceId;
    return renameApiKey(isForeign ? null : state, name);
  };
  const limit = { changesPerDayMax: RENAMES_PER_DAY_MAX, countedAs: `${apiKeyStream(id)} renames` };
  return apiKeys.transact(id, decide, context, limit);
}
