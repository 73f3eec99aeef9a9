import { apiKeyStream } from "../../domain/apiKey/events.ts";
import type { ApiKey, ApiKeyState } from "../../domain/apiKey/state.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { apiKeyAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { load, writtenFirstAt } from "../transact.ts";

/** A key, from its stream; null if the workspace has no such key. */
export async function readApiKey(
  deps: Dependencies,
  workspaceId: string,
  id: string,
): Promise<{ readonly key: ApiKey; readonly createdAt: string } | null> {
  const { state } = await load(deps.store, apiKeyAggregate.of(id));
  if (state?.workspaceId !== workspaceId) return null;
  return { key: state, createdAt: await writtenFirstAt(deps.store, apiKeyStream(id)) };
}

/** The key if a command reaches it: a context with a workspace reaches only that workspace's keys. */
export function reachedKey(key: ApiKeyState, { workspaceId }: CommandContext): ApiKeyState {
  return workspaceId === undefined || key?.workspaceId === workspaceId ? key : null;
}
