// Imported as a whole, because some of its functions call others through `this`.
import ipaddr, { type IPv4, type IPv6 } from "ipaddr.js";

/** A range of addresses, from CIDR notation. */
export type AddressRange = readonly [address: IPv4 | IPv6, prefixBits: number];

/** Without leading zeros: some readers take `010` for 8, others for 10. */
const IPV4 = /^(?:0|[1-9]\d{0,2})(?:\.(?:0|[1-9]\d{0,2})){3}$/;
/** The prefix `::ffff:0:0/96`, below which IPv6 holds the IPv4 addresses. */
const MAPPED_PREFIX_BITS = 96;
const IPV6_PREFIX_BITS = 64;
const PART_BITS = 16;

/** Converts an IPv4-mapped IPv6 address to IPv4. Null for anything but an address, and for unusual notations of one. */
function parse(text: string): IPv4 | IPv6 | null {
  if (!IPV4.test(text) && !ipaddr.IPv6.isValid(text)) return null;
  return ipaddr.isValid(text) ? ipaddr.process(text) : null;
}

/** A range in CIDR notation, or a single address; null if it is neither. */
export function parseAddressRange(text: string): AddressRange | null {
  const address = text.split("/", 1)[0] ?? "";
  if (!IPV4.test(address) && !ipaddr.IPv6.isValid(address)) return null;
  const single = address.includes(":") ? "128" : "32";
  try {
    return withoutMapping(ipaddr.parseCIDR(text.includes("/") ? text : `${text}/${single}`));
  } catch {
    return null;
  }
}

/** Converts a range of IPv4-mapped IPv6 addresses to IPv4, as {@link parse} converts the addresses. */
function withoutMapping([address, bits]: AddressRange): AddressRange {
  const isMapped = address.kind() === "ipv6" && (address as IPv6).isIPv4MappedAddress();
  if (!isMapped || bits < MAPPED_PREFIX_BITS) return [address, bits];
  return [(address as IPv6).toIPv4Address(), bits - MAPPED_PREFIX_BITS];
}

/** Whether one range lies within another. */
export function isWithin([address, bits]: AddressRange, outer: AddressRange): boolean {
  return bits >= outer[1] && isIn(address, [outer]);
}

/** Whether an address is in one of the ranges; false for anything but an address. */
export function isClientIn(address: string, ranges: readonly AddressRange[]): boolean {
  const parsed = parse(address);
  return parsed !== null && isIn(parsed, ranges);
}

function isIn(address: IPv4 | IPv6, ranges: readonly AddressRange[]): boolean {
  return ranges.some(([range, bits]) => range.kind() === address.kind() && address.match(range, bits));
}

/**
 * The address that a request comes from: the peer of its connection, unless that is a trusted proxy. Then it follows
 * X-Forwarded-For from the right, as long as each address is a trusted proxy; anybody can write the entries further
 * left.
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

/** The name under which a client is counted: its IPv4 address, or the /64 that a provider gives one IPv6 customer. */
export function addressGroup(address: string): string {
  const parsed = parse(address);
  if (parsed === null || parsed.kind() === "ipv4") return address;
  const parts = (parsed as IPv6).parts.slice(0, IPV6_PREFIX_BITS / PART_BITS);
  return `${parts.map((part) => part.toString(16)).join(":")}::/${IPV6_PREFIX_BITS}`;
}
