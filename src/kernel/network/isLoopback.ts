import ipaddr from "ipaddr.js";

/** Whether a host is this machine and no other: 127.0.0.0/8, ::1 or `localhost`, in any case. */
export function isLoopback(host: string): boolean {
  return (
    host.toLowerCase() === "localhost" ||
    host === "::1" ||
    (ipaddr.IPv4.isValidFourPartDecimal(host) && host.startsWith("127."))
  );
}

/** A host as written in a URL: IPv6 in brackets. */
export function hostInUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** Whether a URL leads to this machine and no other. */
export function isLoopbackUrl({ hostname }: URL): boolean {
  return isLoopback(hostname.replace(/[[\]]/g, ""));
}
