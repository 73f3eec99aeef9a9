import { keyIdsOfPerson } from "../../../../projections/apiKeys.ts";
import { type Principal, principalOfKey } from "../../../commands/apiKey/authenticate.ts";
import type { Dependencies } from "../../../commands/dependencies.ts";
import { isUsable } from "../../../domain/apiKey/state.ts";
import { isApiKeyId } from "../../../kernel/crypto/apiKeyFormat.ts";
import { rfc3339, SECOND_MS } from "../../../kernel/time.ts";
import { unlessUnavailable } from "../../../ports/readDatabase.ts";
import type { ListSource } from "../../lists/caughtUpReads.ts";

/** A key as the log-in page offers it. */
export interface OfferedKey {
  readonly id: string;
  readonly name: string;
  readonly workspaceName: string;
}

/** Keys offered to a person: in all, and of one workspace, so that none can crowd out the others'. */
const OFFERED_MAX = 100;
const OFFERED_OF_WORKSPACE_MAX = 5;

/** How long the log-in page waits for the newest keys, in ms. */
const WAIT_MS_MAX = SECOND_MS;

/** What a person may log in with. */
export interface KeysOfPerson {
  /** The newest first. */
  readonly keys: readonly OfferedKey[];
  /** Whether the newest keys are among them. */
  readonly isUpToDate: boolean;
}

/** The keys that a person may log in with now. The rows say which there may be, the log which there are. */
export async function keysOfPerson({ deps, readModel }: ListSource, person: string): Promise<KeysOfPerson> {
  const model = readModel("api-keys");
  const isCaughtUp = await model.whenCaughtUp(WAIT_MS_MAX);
  const now = deps.clock.now();
  const bounds = { ofWorkspaceMax: OFFERED_OF_WORKSPACE_MAX, max: OFFERED_MAX };
  const ids = unlessUnavailable(() => keyIdsOfPerson(model.db, { person, now: rfc3339(now), ...bounds }));
  const offered = (ids ?? []).map(async (id): Promise<OfferedKey | null> => {
    const key = await deps.apiKeys.get(id);
    if (!isUsable(key, now) || key.person !== person) return null;
    const workspace = await deps.workspaces.get(key.workspaceId);
    return { id, name: key.name, workspaceName: workspace?.name ?? key.workspaceId };
  });
  const keys = (await Promise.all(offered)).filter((key) => key !== null);
  return { keys, isUpToDate: isCaughtUp && ids !== null };
}

/** The principal of a person's key; null if it is no longer usable, or not this person's. */
export async function principalOfPerson(
  deps: Dependencies,
  person: string,
  keyId: string,
): Promise<Principal | null> {
  const key = isApiKeyId(keyId) ? await deps.apiKeys.get(keyId) : null;
  return key?.person === person ? principalOfKey(deps, keyId) : null;
}
