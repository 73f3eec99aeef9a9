import type { InstanceKeys } from "../../kernel/crypto/instanceKeys.ts";
import type { Address } from "../../kernel/text/emailAddress.ts";

/** What a sender covers: one address, or every address at exactly one domain. */
export type SenderName =
  | { readonly kind: "address"; readonly address: Address }
  | { readonly kind: "domain"; readonly domain: string };

/** The id of a sender. A domain is hashed with a leading @, which no address begins with. */
export function senderIdOf(keys: InstanceKeys, workspaceId: string, name: SenderName): string {
  return keys.hashAddress(workspaceId, name.kind === "address" ? name.address.canonical : `@${name.domain}`);
}

/** The id of the sender that covers the whole domain of this address. */
export function domainSenderIdOf(keys: InstanceKeys, workspaceId: string, { canonical }: Address): string {
  return keys.hashAddress(workspaceId, canonical.slice(canonical.lastIndexOf("@")));
}
