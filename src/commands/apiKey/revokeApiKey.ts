import { revokeApiKey } from "../../domain/apiKey/decisions.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import type { Dependencies } from "../dependencies.ts";
import { reachedKey } from "./readApiKey.ts";

/** Revokes a key that the context reaches, within a second on every instance. */
export function revokeKey({ apiKeys }: Dependencies, id: string, context: CommandContext) {
  return apiKeys.transact(id, (state) => revokeApiKey(reachedKey(state, context)), context);
}
