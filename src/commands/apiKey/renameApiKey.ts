import { renameApiKey } from "../../domain/apiKey/decisions.ts";
import { apiKeyStream } from "../../domain/apiKey/events.ts";
import type { ApiKeyState } from "../../domain/apiKey/state.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import type { Dependencies } from "../dependencies.ts";
import { reachedKey } from "./readApiKey.ts";

const RENAMES_PER_DAY_MAX = 20;

/**
 * Gives a key that the context reaches another name. Throws `ChangeRateError` after too many renames; rotations are
 * counted separately.
 */
export function renameKey({ apiKeys }: Dependencies, id: string, name: string, context: CommandContext) {
  const decide = (state: ApiKeyState) => renameApiKey(reachedKey(state, context), name);
  const limit = { changesPerDayMax: RENAMES_PER_DAY_MAX, countedAs: `${apiKeyStream(id)} renames` };
  return apiKeys.transact(id, decide, context, limit);
}
