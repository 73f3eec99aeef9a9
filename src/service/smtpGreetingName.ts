import { isIP } from "node:net";

/** What the service calls itself over SMTP: the host of BASE_URL, an address as a literal (RFC 5321 §4.1.3). */
export function smtpGreetingName({ hostname }: Pick<URL, "hostname">): string {
  if (hostname.startsWith("[")) return `[IPv6:${hostname.slice(1)}`;
  return isIP(hostname) === 0 ? hostname : `[${hostname}]`;
}
