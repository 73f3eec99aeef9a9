import type { Dependencies } from "../../../commands/dependencies.ts";
import { counted, grouped, listedUpTo } from "../../../kernel/text/readableNumbers.ts";
import { StoreError } from "../../../ports/eventStore.ts";
import { type ReadDatabase, ReadDatabaseError } from "../../../ports/readDatabase.ts";
import type { RelayRouter } from "../../../reactors/email/relayRouter.ts";
import { SENDERS_LOOKED_AT_MAX, sendersWithoutRelay } from "../sendersWithoutRelay.ts";
import { type Check, failed, ok } from "./check.ts";

const NAME = "relays of senders";
/** Senders that `doctor` names; it counts the others. */
const NAMED_MAX = 20;

export const NO_RELAY_REMEDY =
  "name them in the senders of a relay in SMTP_URL, or add a relay without senders and workspaces; their mail waits, and fails when its time is over";

/**
 * Which verified senders have no relay. None if one relay takes all other mail, nor while the log or the read model,
 * which have checks of their own, cannot be read.
 */
export async function senderRelayChecks(
  deps: Pick<Dependencies, "senders">,
  router: RelayRouter,
  senders: ReadDatabase,
): Promise<readonly Check[]> {
  if (router.isForAll) return [];
  try {
    const { found, isOfAll } = await sendersWithoutRelay(deps, router, senders);
    const among = isOfAll ? "" : ` among the first ${grouped(SENDERS_LOOKED_AT_MAX)}`;
    if (found.length === 0) return [ok(NAME, `each verified sender${among} has one`)];
    const each = found.map(({ name, workspaceId }) => `${name} (workspace ${workspaceId})`);
    const detail = `${counted(found.length, "verified sender")}${among} without one: ${listedUpTo(NAMED_MAX, each)}`;
    return [failed(NAME, detail, NO_RELAY_REMEDY)];
  } catch (error) {
    if (error instanceof StoreError || error instanceof ReadDatabaseError) return [];
    throw error;
  }
}
