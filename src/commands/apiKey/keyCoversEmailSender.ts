import { type ApiKey, coversSender } from "../../domain/apiKey/state.ts";
import { parseAddress } from "../../kernel/text/emailAddress.ts";
import type { Dependencies } from "../dependencies.ts";
import type { EmailView } from "../email/readEmail.ts";

/**
 * Whether a key may send from the address that a message was sent from. Once the content is erased, only the ids of the
 * senders tell: the address's own, and that of the sender that authorized it. Throws `StoreError`.
 */
export async function keyCoversEmailSender(
  { keys, senders }: Pick<Dependencies, "keys" | "senders">,
  key: Pick<ApiKey, "senders">,
  { email: { workspaceId, senderId, authorityId }, content }: Pick<EmailView, "email" | "content">,
): Promise<boolean> {
  if (key.senders === null) return true;
  if (content !== null) return coversAddress(key, content.from);
  const idOf = (name: string) => keys.hashAddress(workspaceId, name.includes("@") ? name : `@${name}`);
  const ids = [...key.senders].map(idOf);
  if (ids.includes(senderId) || ids.includes(authorityId)) return true;
  // An address that was verified by itself: its domain's id is not stored, but the sender's record has the address.
  const sender = await senders.get(senderId);
  return sender !== null && coversAddress(key, sender.name);
}

function coversAddress(key: Pick<ApiKey, "senders">, address: string): boolean {
  const parsed = parseAddress(address);
  return "canonical" in parsed && coversSender(key, parsed.canonical);
}
