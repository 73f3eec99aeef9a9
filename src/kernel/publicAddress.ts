import ipaddr from "ipaddr.js";

/** IPv6 that is in 2000::/3 and yet not a destination of the public internet. */
const NOT_PUBLIC_V6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"].map((range) =>
  ipaddr.IPv6.parseCIDR(range),
);
const GLOBAL_V6 = ipaddr.IPv6.parseCIDR("2000::/3");

/** Whether an IP address, in any notation that was already normalised, is one of the public internet. */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  if (address.kind() === "ipv4") return address.range() === "unicast";
  const v6 = address as ipaddr.IPv6;
  return v6.match(GLOBAL_V6) && !NOT_PUBLIC_V6.some((range) => v6.match(range));
}

/** Link-local addresses, cloud metadata among them: not even development has endpoints there. */
export function isNeverAllowed(text: string): boolean {
  if (!ipaddr.isValid(text)) return true;
  const range = ipaddr.process(text).range();
  return range !== "unicast" && range !== "loopback" && range !== "private" && range !== "uniqueLocal";
}
