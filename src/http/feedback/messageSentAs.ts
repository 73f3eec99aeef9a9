import { listEmails } from "../../../projections/emails/queries.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { findByRelayId, RELAY_ID_SEARCH_MESSAGES_MAX } from "../../commands/email/feedback/findByRelayId.ts";
import type { SentAs } from "../../domain/email/feedback/providerFeedback.ts";
import { parseAddress } from "../../kernel/text/emailAddress.ts";
import { type ListSource, scheduledRead, whenCaughtUp } from "../lists/caughtUpReads.ts";

export interface MessageSearch extends Dependencies {
  readonly readModel: ListSource["readModel"];
}

/** Among the newest messages of a workspace to the address, our id of the one that the relay took under this id. */
export async function messageSentAs(
  deps: MessageSearch,
  workspaceId: string,
  { relayId, recipient }: SentAs,
): Promise<string | null> {
  const address = parseAddress(recipient);
  if ("invalid" in address) return null;
  const recipientHash = deps.keys.hashAddress(workspaceId, address.canonical);
  const emails = deps.readModel("emails");
  await whenCaughtUp(emails);
  const wanted = { ownerId: workspaceId, recipientHash, limit: RELAY_ID_SEARCH_MESSAGES_MAX };
  const { rows } = await scheduledRead(emails, (db) => listEmails(db, wanted));
  return findByRelayId(
    deps.store,
    rows.map(({ id }) => id),
    relayId,
  );
}
