import { sendersAfter } from "../../../projections/senders.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { canSend } from "../../domain/sender/state.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import type { RelayRouter } from "../../reactors/email/relayRouter.ts";

/** Senders to look at; each is one cached state. */
export const SENDERS_LOOKED_AT_MAX = 5_000;
const PAGE_SENDERS = 100;

/** A sender that may send, and whose mail no relay is for. */
export interface SenderWithoutRelay {
  readonly id: string;
  readonly workspaceId: string;
  /** Its address or domain. */
  readonly name: string;
}

/**
 * `isOfAll` is false if there are more than {@link SENDERS_LOOKED_AT_MAX} senders: it looks at no others. Throws
 * `StoreError`, and ReadDatabaseError while the read model is unavailable.
 */
export async function sendersWithoutRelay(
  { senders }: Pick<Dependencies, "senders">,
  router: RelayRouter,
  rows: ReadDatabase,
): Promise<{ readonly found: readonly SenderWithoutRelay[]; readonly isOfAll: boolean }> {
  const found: SenderWithoutRelay[] = [];
  const look = async (id: string) => {
    const sender = await senders.get(id);
    if (sender === null || !canSend(sender)) return;
    const { workspaceId, name } = sender;
    const group = await router.groupOf({ workspaceId, senderId: id, authorityId: id });
    if (group === null) found.push({ id, workspaceId, name });
  };
  let after = "";
  for (let looked = 0; looked < SENDERS_LOOKED_AT_MAX; looked += PAGE_SENDERS) {
    const ids = sendersAfter(rows, after, PAGE_SENDERS);
    await Promise.all(ids.map(look));
    after = ids.at(-1) ?? "";
    if (ids.length < PAGE_SENDERS) return { found, isOfAll: true };
  }
  return { found, isOfAll: false };
}
