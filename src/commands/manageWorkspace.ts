import { issueApiKey, revokeApiKey } from "../domain/apiKey/decisions.ts";
import { apiKeyStream } from "../domain/apiKey/events.ts";
import type { Scope } from "../domain/apiKey/scopes.ts";
import { createWorkspace } from "../domain/workspace/decisions.ts";
import { workspaceStream } from "../domain/workspace/events.ts";
import { newApiKey } from "../kernel/apiKeyText.ts";
import { newId } from "../kernel/ids.ts";
import type { Occasion } from "../kernel/metadata.ts";
import { type EpochMs, rfc3339 } from "../kernel/time.ts";
import { apiKeyAggregate, type Services, workspaceAggregate } from "./services.ts";
import { transact } from "./transact.ts";

/** Creates a workspace and answers its id. */
export async function newWorkspace(services: Services, name: string, occasion: Occasion): Promise<string> {
  const id = newId();
  await transact(
    services.store,
    { ...workspaceAggregate, stream: workspaceStream(id) },
    (state) => createWorkspace(state, name),
    { ...occasion, workspaceId: id },
  );
  services.workspaces.forget(id);
  return id;
}

export interface IssueApiKey {
  readonly workspaceId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Null: it does not expire. */
  readonly expiresAt: EpochMs | null;
}

/** Issues a key. This answer alone carries it: the log holds a keyed hash. */
export async function issueKey(
  services: Services,
  issue: IssueApiKey,
  occasion: Occasion,
): Promise<{ readonly id: string; readonly key: string } | null> {
  const { workspaceId, name, scopes, expiresAt } = issue;
  if ((await services.workspaces.get(workspaceId)) === null) return null;
  const { id, key } = newApiKey();
  const expiry = expiresAt === null ? {} : { expiresAt: rfc3339(expiresAt) };
  const data = { workspaceId, name, hash: services.keys.hashApiKey(key), scopes: [...scopes], ...expiry };
  await transact(
    services.store,
    { ...apiKeyAggregate, stream: apiKeyStream(id) },
    (state) => issueApiKey(state, data),
    { ...occasion, workspaceId },
  );
  services.apiKeys.forget(id);
  return { id, key };
}

/** Revokes a key: within a second it opens nothing on any instance. */
export async function revokeKey(services: Services, id: string, occasion: Occasion) {
  const aggregate = { ...apiKeyAggregate, stream: apiKeyStream(id) };
  const outcome = await transact(services.store, aggregate, revokeApiKey, occasion);
  services.apiKeys.forget(id);
  return outcome;
}
