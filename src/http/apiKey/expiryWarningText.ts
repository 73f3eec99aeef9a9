import { type ExpiringKey, expiringApiKeys } from "../../../projections/apiKeys.ts";
import { EXPIRY_WARNING_RULE } from "../../domain/apiKey/expiryWarningRule.ts";
import { CREATE_KEY, POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import { counted, firstOf, listedUpTo } from "../../kernel/text/readableNumbers.ts";
import { type EpochMs, epochMs } from "../../kernel/time.ts";
import { type ReadDatabase, unlessUnavailable } from "../../ports/readDatabase.ts";

/** Keys that a warning names; the others are counted. */
const NAMED_MAX = 20;
const COUNTED_MAX = 1_000;

/** What to do about them. */
export const EXPIRY_REMEDY = `give their callers other keys: \`${POSTLEDGER} ${CREATE_KEY}\` makes one that lasts`;

/** The keys to warn of, of one workspace or (null) of all; null while the read model is unavailable. */
export function keysToWarnOf(
  apiKeys: ReadDatabase,
  now: EpochMs,
  workspaceId: string | null,
): readonly ExpiringKey[] | null {
  const query = { now, rule: EXPIRY_WARNING_RULE, workspaceId, max: COUNTED_MAX };
  return unlessUnavailable(() => expiringApiKeys(apiKeys, query));
}

export function namedKeys(keys: readonly ExpiringKey[]) {
  return firstOf(NAMED_MAX, keys);
}

/** "expires" for a key that still works at `now`, else "expired". */
export function expiryVerb({ expiresAt }: Pick<ExpiringKey, "expiresAt">, now: EpochMs): string {
  return epochMs(expiresAt) > now ? "expires" : "expired";
}

/** A sentence about such keys, each named as `nameOf` says. */
export function expiryWarningDetail(
  keys: readonly ExpiringKey[],
  now: EpochMs,
  nameOf: (key: ExpiringKey) => string,
): string {
  const each = keys.map((key) => `${nameOf(key)} ${expiryVerb(key, now)} at ${key.expiresAt}`);
  return `${counted(keys.length, "key")} in use: ${listedUpTo(NAMED_MAX, each)}`;
}
