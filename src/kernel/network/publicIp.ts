import ipaddr from "ipaddr.js";

/**
 * IPv6 ranges in 2000::/3 that are not destinations on the public internet (IANA's special-purpose registry), and the
 * former test network 3ffe::/16, which has not been assigned since.
 */
const NOT_PUBLIC_V6 = [
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "2620:4f:8000::/48",
  "3ffe::/16",
  "3fff::/20",
].map((range) => ipaddr.IPv6.parseCIDR(range));
/**
 * IPv4 ranges that look public but are not: anycast services answer there (AS112, AMT, 6to4 relays), or the host of a
 * virtual machine (168.63.129.16 on Azure, whose agent hands out secrets).
 */
const NOT_PUBLIC_V4 = [
  "168.63.129.16/32",
  "192.0.0.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.175.48.0/24",
].map((range) => ipaddr.IPv4.parseCIDR(range));
const GLOBAL_V6 = ipaddr.IPv6.parseCIDR("2000::/3");

/** Whether a normalised IP address belongs to the public internet. */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  if (address.kind() === "ipv4") return address.range() === "unicast" && !isServiceAddress(address);
  const v6 = address as ipaddr.IPv6;
  return v6.match(GLOBAL_V6) && !NOT_PUBLIC_V6.some((range) => v6.match(range));
}

function isServiceAddress(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return address.kind() === "ipv4" && NOT_PUBLIC_V4.some((range) => (address as ipaddr.IPv4).match(range));
}

/** Whether not even development may have endpoints there, such as link-local addresses and cloud metadata. */
export function isNeverAllowed(text: string): boolean {
  if (!ipaddr.isValid(text)) return true;
  const address = ipaddr.process(text);
  if (isServiceAddress(address)) return true;
  const range = address.range();
  return range !== "unicast" && range !== "loopback" && range !== "private" && range !== "uniqueLocal";
}
