// As a whole, because some of its functions find the others by `this`.
import ipaddr, { type IPv4, type IPv6 } from "ipaddr.js";

/** A range of addresses, as CIDR notation gives it. */
export type AddressRange = readonly [address: IPv4 | IPv6, prefixBits: number];

const IPV4 = /^\d{1,3}(\.\d{1,3}){3}$/;
const IPV6_PREFIX_BITS = 64;
const PART_BITS = 16;

/** An IPv4 address in an IPv6 coat counts as what it is. Null for what is no address, odd spellings of one too. */
function parse(text: string): IPv4 | IPv6 | null {
  if (!IPV4.test(text) && !ipaddr.IPv6.isValid(text)) return null;
  return ipaddr.isValid(text) ? ipaddr.process(text) : null;
}

/** A range in CIDR notation, or one address by itself; null when it is neither. */
export function parseAddressRange(text: string): AddressRange | null {
  const address = text.split("/", 1)[0] ?? "";
  if (!IPV4.test(address) && !ipaddr.IPv6.isValid(address)) return null;
  const single = address.includes(":") ? "128" : "32";
  try {
    return ipaddr.parseCIDR(text.includes("/") ? text : `${text}/${single}`);
  } catch {
    return null;
  }
}

/** Whether one range lies in another. */
export function isWithin([address, bits]: AddressRange, outer: AddressRange): boolean {
  return bits >= outer[1] && isIn(address, [outer]);
}

/** Whether an address is in one of the ranges; what is no address is in none. */
export function isClientIn(address: string, ranges: readonly AddressRange[]): boolean {
  const parsed = parse(address);
  return parsed !== null && isIn(parsed, ranges);
}

function isIn(address: IPv4 | IPv6, ranges: readonly AddressRange[]): boolean {
  return ranges.some(([range, bits]) => range.kind() === address.kind() && address.match(range, bits));
}

/**
 * Where a request comes from: the other end of its connection, unless that is a proxy that we trust; then what the
 * nearest proxies say in X-Forwarded-For, as far as they are trusted themselves. What stands further left
 * anybody can write.
 */
export function clientAddress(
  peer: string,
  forwardedFor: string | null,
  trusted: readonly AddressRange[],
): string {
  let nearest = parse(peer);
  if (nearest === null) return peer;
  const hops = forwardedFor === null ? [] : forwardedFor.split(",").reverse();
  for (const hop of hops) {
    if (!isIn(nearest, trusted)) break;
    const next = parse(hop.trim());
    if (next === null) break;
    nearest = next;
  }
  return nearest.toString();
}

/** The name under which a client is counted: its IPv4 address, or the /64 that one IPv6 customer is given. */
export function addressGroup(address: string): string {
  const parsed = parse(address);
  if (parsed === null || parsed.kind() === "ipv4") return address;
  const parts = (parsed as IPv6).parts.slice(0, IPV6_PREFIX_BITS / PART_BITS);
  return `${parts.map((part) => part.toString(16)).join(":")}::/${IPV6_PREFIX_BITS}`;
}
