import { renameApiKey } from "../../domain/apiKey/decisions.ts";
import type { ApiKeyState } from "../../domain/apiKey/state.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { apiKeyAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { transact } from "../transact.ts";

/** How often callers may rename a key in a day. */
const RENAMES_PER_DAY_MAX = 20;

/**
 * Gives a key another name. A context with a workspace reaches only that workspace's keys. Throws `ChangeRateError`
 * after too many renames; rotations are counted separately.
 */
export async function renameKey(
  { store, apiKeys }: Dependencies,
  id: string,
  name: string,
  context: CommandContext,
) {
  const { workspaceId } = context;
  const decide = (state: ApiKeyState) => {
    const isForeign = workspaceId !== undefined && state?.workspaceId !== workspaceId;
    return renameApiKey(isForeign ? null : state, name);
  };
  const key = apiKeyAggregate.of(id);
  const aggregate = {
    ...key,
    since: () => apiKeys.loaded(id),
    changesPerDayMax: RENAMES_PER_DAY_MAX,
    countedAs: `${key.stream} renames`,
  };
  const outcome = await transact(store, aggregate, decide, context);
  apiKeys.forget(id);
  return outcome;
}
