import { countActiveApiKeys } from "../../../projections/apiKeys.ts";
import type { Principal } from "../../commands/apiKey/authenticate.ts";
import { rfc3339 } from "../../kernel/time.ts";
import type { ListSource } from "../lists/caughtUpReads.ts";
import { Problem } from "../server/problem.ts";

/** Active keys per workspace. Concurrent requests may exceed it slightly. */
const ACTIVE_KEYS_MAX = 1_000;

/** Throws a `Problem` if the workspace has as many active keys as it can. */
export function requireActiveKeysBelowMax(source: ListSource, { workspaceId }: Principal): void {
  const now = rfc3339(source.deps.clock.now());
  if (countActiveApiKeys(source.readModel("api-keys").db, workspaceId, now) < ACTIVE_KEYS_MAX) return;
  throw new Problem("API_KEY_LIMIT_REACHED", { detail: "revoke keys that are no longer used" });
}
