import { authorityOf, type SenderFault, senderFault } from "../../domain/sender/state.ts";
import type { Address } from "../../kernel/text/emailAddress.ts";
import type { Dependencies } from "../dependencies.ts";
import { domainSenderIdOf } from "./senderId.ts";

export interface AuthorizingSender {
  /** The id of the address itself, whether it was added as a sender or not. */
  readonly senderId: string;
  /** The domain's sender, if the address cannot send on its own; null if it can. */
  readonly domainSenderId: string | null;
  /** The address's own, else that of the domain that authorizes it. */
  readonly displayName: string | null;
}

/** Who authorizes this address, or why nobody does. An address that can send by itself costs one look-up. */
export async function authorizingSender(
  { keys, senders }: Pick<Dependencies, "keys" | "senders">,
  workspaceId: string,
  from: Address,
): Promise<AuthorizingSender | SenderFault> {
  const senderId = keys.hashAddress(workspaceId, from.canonical);
  const { state: address } = await senders.loaded(senderId);
  const displayName = address?.displayName ?? null;
  if (authorityOf(address, null) === "address") return { senderId, domainSenderId: null, displayName };
  const domainSenderId = domainSenderIdOf(keys, workspaceId, from);
  const domain = await senders.get(domainSenderId);
  if (authorityOf(address, domain) === null) return senderFault(address, domain);
  return { senderId, domainSenderId, displayName: displayName ?? domain?.displayName ?? null };
}
