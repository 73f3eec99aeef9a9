import { issueApiKey } from "../../domain/apiKey/decisions.ts";
import { LOG_IN_KEY_NAME } from "../../domain/apiKey/expiryWarningRule.ts";
import { SCOPES } from "../../domain/apiKey/scopes.ts";
import { newApiKey } from "../../kernel/crypto/apiKeyFormat.ts";
import type { InstanceKeys } from "../../kernel/crypto/instanceKeys.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { DAY_MS, type EpochMs, MINUTE_MS, rfc3339 } from "../../kernel/time.ts";
import { apiKeyAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { transact } from "../transact.ts";

/** How long a link may be used after it was made, in ms. */
export const LOG_IN_LINK_MS = 15 * MINUTE_MS;
/** How long the key of a log-in is valid, in ms; its session ends with it. */
const LOG_IN_KEY_MS = 7 * DAY_MS;

const PURPOSE = "log-in link";

/**
 * The secret of a link that logs in to the dashboard of one workspace, once. It carries everything about the link,
 * encrypted, so any instance of the log can redeem it and none has to remember it.
 */
export function newLogInToken(keys: InstanceKeys, workspaceId: string, now: EpochMs): string {
  const link = [workspaceId, now + LOG_IN_LINK_MS, newApiKey().id];
  return keys.encryptForBrowser(PURPOSE, JSON.stringify(link));
}

export type RedeemOutcome =
  | { readonly kind: "redeemed"; readonly keyId: string }
  | { readonly kind: "unknown" | "expired" | "used" };

/**
 * Redeems a link: issues an API key whose secret nobody gets, to which a session is bound. The key's id is in the link,
 * and a key is issued only once, so a link works only once, on any instance. Throws `StoreError`.
 */
export async function redeemLogInLink(
  deps: Dependencies,
  token: string,
  context: CommandContext,
): Promise<RedeemOutcome> {
  const link = linkOf(deps.keys, token);
  if (link === null) return { kind: "unknown" };
  const { workspaceId, expiresAt, keyId } = link;
  if (expiresAt <= context.at) return { kind: "expired" };
  if ((await deps.workspaces.get(workspaceId)) === null) return { kind: "unknown" };
  const outcome = await transact(
    deps.store,
    apiKeyAggregate.of(keyId),
    (state) =>
      issueApiKey(state, {
        workspaceId,
        name: LOG_IN_KEY_NAME,
        hash: deps.keys.hashApiKey(newApiKey().key),
        scopes: [...SCOPES],
        expiresAt: rfc3339(context.at + LOG_IN_KEY_MS),
      }),
    { ...context, workspaceId },
  );
  deps.apiKeys.forget(keyId);
  return outcome === "issued" ? { kind: "redeemed", keyId } : { kind: "used" };
}

function linkOf(keys: InstanceKeys, token: string) {
  const plain = keys.decryptFromBrowser(PURPOSE, token);
  if (plain === null) return null;
  const [workspaceId, expiresAt, keyId] = JSON.parse(plain) as [string, EpochMs, string];
  return { workspaceId, expiresAt, keyId };
}
