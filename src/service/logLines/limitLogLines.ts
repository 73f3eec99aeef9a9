import type { Logger } from "pino";
import type { NearLimit } from "../../commands/quota/limitWatch.ts";
import { LIMIT_WORDS } from "../../http/workspace/nearLimitText.ts";
import { mailOwnerOf } from "../../kernel/liveOrTestOwner.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";

/** Warns of a limit that is nearly used up, or is. */
export function limitLog(logger: Logger): (near: NearLimit) => void {
  return ({ limit, ownerId, used, of, day, isUsedUp }) => {
    const { name, atLimit, option } = LIMIT_WORDS[limit];
    const { workspaceId, isTest } = mailOwnerOf(ownerId);
    const raise = `\`${POSTLEDGER} workspace limits <id> ${option}\` raises it`;
    logger.warn(
      { workspace: workspaceId, ...(isTest ? { test: true } : {}), used, limit: of, day },
      isUsedUp
        ? `a workspace has no room left in its ${name}: ${atLimit}; ${raise}`
        : `a workspace has used 80 % of its ${name}: at the limit ${atLimit}; ${raise}`,
    );
  };
}
