import { EXPIRY_WARNING_RULE } from "../../../domain/apiKey/expiryWarningRule.ts";
import { EXPIRY_REMEDY, expiryWarningDetail, keysToWarnOf } from "../../../http/apiKey/expiryWarningText.ts";
import { DAY_MS, type EpochMs } from "../../../kernel/time.ts";
import type { ReadDatabase } from "../../../ports/readDatabase.ts";
import { type Check, ok, warning } from "./check.ts";

const NAME = "API keys";

/** Whether keys in use are about to end, or have. None while the read model is unavailable, which has a check of its own. */
export function apiKeyChecks(apiKeys: ReadDatabase, now: EpochMs): readonly Check[] {
  const keys = keysToWarnOf(apiKeys, now, null);
  if (keys === null) return [];
  if (keys.length === 0)
    return [ok(NAME, `none in use expires within ${EXPIRY_WARNING_RULE.aheadMs / DAY_MS} days`)];
  const detail = expiryWarningDetail(keys, now, ({ name, id, workspaceId }) => {
    return `${name} (${id} of workspace ${workspaceId})`;
  });
  return [warning(NAME, detail, EXPIRY_REMEDY)];
}
