import type { DueEmail } from "../../../projections/emails/mailQueue.ts";
import { authorityOf, type SenderState } from "../../domain/sender/state.ts";

/**
 * The sender because of which a message may not leave: that of its address if it is disabled, else the one that
 * authorized the message. Null if it may leave.
 */
export async function unavailableSender(
  { senderId, authorityId }: Pick<DueEmail, "senderId" | "authorityId">,
  read: (id: string) => Promise<SenderState>,
): Promise<string | null> {
  const [sender, domain] = await Promise.all([
    read(senderId),
    authorityId === senderId ? null : read(authorityId),
  ]);
  if (authorityOf(sender, domain) !== null) return null;
  return sender?.disabled ? senderId : authorityId;
}
