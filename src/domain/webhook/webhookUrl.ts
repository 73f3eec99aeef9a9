/** The longest destination, in characters, both as given and as normalised. */
export const URL_CHARACTERS_MAX = 2_000;

/** Names that never leave a private network (RFC 6761, RFC 6762, RFC 8375, ICANN's `.internal`). */
const PRIVATE_NAMES = [".localhost", ".local", ".internal", ".home.arpa", ".test", ".invalid", ".onion"];
const NAME = /^(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$/;

/** A fully qualified name. Even public IP addresses are refused, because a certificate is checked for a name. */
function isPublicName(hostname: string): boolean {
  return NAME.test(hostname) && !PRIVATE_NAMES.some((suffix) => hostname.endsWith(suffix));
}

/** Names of this machine, which can be listed for development without a certificate. */
const LOOPBACK: ReadonlySet<string> = new Set(["localhost", "127.0.0.1"]);
/** An IP address as the parser normalises it: IPv4 in its usual form, IPv6 in brackets. */
const ADDRESS = /^(?:[\d.]+|\[.*)$/;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { "https:": "443", "http:": "80" };

function pairOf({ protocol, hostname, port }: URL): string {
  return `${hostname.replace(/\.$/, "")}:${port || DEFAULT_PORTS[protocol]}`;
}

/** Anywhere but on this machine, a destination needs TLS and a name. */
function isListable({ protocol, hostname }: URL): boolean {
  if (LOOPBACK.has(hostname)) return protocol in DEFAULT_PORTS;
  return protocol === "https:" && !ADDRESS.test(hostname);
}

/** What the WHATWG parser would drop, or read as `/`. */
const SPACE_OR_BACKSLASH = /[\s\p{Cc}\\]/u;
/** The parser also takes `https:host` and `https:///host`. */
const BEGINNING = /^[a-z]+:\/\/[^/]/i;

/** The URL; null if there is none without a repair that its owner may not have meant. */
function parsedAsWritten(text: string): URL | null {
  return BEGINNING.test(text) && !SPACE_OR_BACKSLASH.test(text) ? URL.parse(text) : null;
}

/** The `host:port` to list so that a destination is allowed for development; null if listing would not help. */
export function privateHostOf(text: string): string | null {
  const url = text.length > URL_CHARACTERS_MAX ? null : parsedAsWritten(text);
  return url === null || hasCredentials(url) || !isListable(url) ? null : pairOf(url);
}

function hasCredentials({ username, password }: URL): boolean {
  return username !== "" || password !== "";
}

/** Why a URL is no public destination; null if it is one. */
function publicFault({ protocol, hostname, port }: URL): string | null {
  if (protocol !== "https:") return "it does not begin with https://";
  if (ADDRESS.test(hostname)) return "it has an address in place of a name";
  // The parser drops the default port, so any port left is a different one.
  if (port !== "") return "it has another port";
  return isPublicName(hostname) ? null : "its name is not public";
}

/** A normalised destination, or what is wrong with it. */
export type Destination = { readonly url: string } | { readonly fault: string };

/**
 * Reads a webhook destination: a public HTTPS URL on port 443. Parses first and checks the result, because the WHATWG
 * parser turns `0x7f.1`, `2130706433` and `①②⑦.0.0.1` into 127.0.0.1. Each delivery resolves and checks the name again.
 * `allowedPrivateHosts`: `host:port` pairs allowed anyway for development; those of this machine need no TLS.
 */
export function readDestination(
  text: string,
  allowedPrivateHosts: ReadonlySet<string> = new Set(),
): Destination {
  const tooLong = { fault: `it has more than ${URL_CHARACTERS_MAX} characters` };
  if (text.length > URL_CHARACTERS_MAX) return tooLong;
  if (SPACE_OR_BACKSLASH.test(text)) return { fault: "it holds white space or a backslash" };
  const url = parsedAsWritten(text);
  if (url === null) return { fault: "it is no URL such as https://app.example.com/hook" };
  if (hasCredentials(url)) return { fault: "it holds a user or a password" };
  url.hostname = url.hostname.replace(/\.$/, "");
  const isAllowed = isListable(url) && allowedPrivateHosts.has(pairOf(url));
  const fault = isAllowed ? null : publicFault(url);
  if (fault !== null) return { fault };
  url.hash = "";
  return url.href.length > URL_CHARACTERS_MAX ? tooLong : { url: url.href };
}
