import type { InstanceKeys } from "../../kernel/crypto/instanceKeys.ts";
import type { Address } from "../../kernel/text/emailAddress.ts";

/** What a sender covers: one address, or every address at exactly one domain. */
export type SenderName =
  | { readonly kind: "address"; readonly address: Address }
  | { readonly kind: "domain"; readonly domain: string };

/** The id of a sender: no address begins with the @ that a domain is hashed with. */
export function senderIdOf(keys: InstanceKeys, workspaceId: string, name: SenderName): string {
  return keys.hashAddress(workspaceId, name.kind === "address" ? name.address.canonical : `@${name.domain}`);
}

/** The id of the sender that speaks for all addresses at the domain of this one. */
export function domainSenderIdOf(keys: InstanceKeys, workspaceId: string, { canonical }: Address): string {
  return keys.hashAddress(workspaceId, canonical.slice(canonical.lastIndexOf("@")));
}
