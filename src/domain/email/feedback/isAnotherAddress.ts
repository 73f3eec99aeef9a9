import { type Address, domainOf, parseAddress } from "../../../kernel/text/emailAddress.ts";

/**
 * Whether the recipient that a report names is another address than the one that was sent to. Servers rewrite that one
 * into an address at a host of its domain, or without what follows a `+`. No address (`unknown`, X.400) tells nothing.
 */
export function isAnotherAddress(reported: string, sentTo: string): boolean {
  const [one, other] = [parseAddress(reported), parseAddress(sentTo)];
  if ("invalid" in one || "invalid" in other) return false;
  return userOf(one) !== userOf(other) || !areRelated(domainOf(one.sent), domainOf(other.sent));
}

function userOf({ canonical }: Address): string {
  return canonical.replace(/[+@].*$/, "");
}

function areRelated(one: string, other: string): boolean {
  return one === other || one.endsWith(`.${other}`) || other.endsWith(`.${one}`);
}
