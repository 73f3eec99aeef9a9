/** The longest destination, in characters: as it is given, and as it is called. */
export const URL_CHARACTERS_MAX = 2_000;

/** Names that never leave a private network (RFC 6761, RFC 6762, RFC 8375, ICANN's `.internal`). */
const PRIVATE_NAMES = [".localhost", ".local", ".internal", ".home.arpa", ".test", ".invalid", ".onion"];
const NAME = /^(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$/;

/** A fully qualified name. Addresses are refused, public ones too: a certificate is checked for a name. */
function isPublicName(hostname: string): boolean {
  return NAME.test(hostname) && !PRIVATE_NAMES.some((suffix) => hostname.endsWith(suffix));
}

/** This machine, by the names that can be listed for development without a certificate. */
const LOOPBACK: ReadonlySet<string> = new Set(["localhost", "127.0.0.1"]);
/** What the parser leaves of an address: IPv4 in its usual form, IPv6 in brackets. */
const ADDRESS = /^(?:[\d.]+|\[.*)$/;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { "https:": "443", "http:": "80" };

function pairOf({ protocol, hostname, port }: URL): string {
  return `${hostname.replace(/\.$/, "")}:${port || DEFAULT_PORTS[protocol]}`;
}

/** Only what has a certificate may be elsewhere than on this machine. */
function isListable({ protocol, hostname }: URL): boolean {
  if (LOOPBACK.has(hostname)) return protocol in DEFAULT_PORTS;
  return protocol === "https:" && !ADDRESS.test(hostname);
}

/** The `host:port` that would make a destination one for development; null where listing it would not help. */
export function privateHostOf(text: string): string | null {
  const url = URL.parse(text);
  return url === null || hasCredentials(url) || !isListable(url) ? null : pairOf(url);
}

function hasCredentials({ username, password }: URL): boolean {
  return username !== "" || password !== "";
}

/** Why a URL is no public destination; null when it is one. */
function publicFault({ protocol, hostname, port }: URL): string | null {
  if (protocol !== "https:") return "it does not begin with https://";
  if (ADDRESS.test(hostname)) return "it has an address in place of a name";
  // The parser drops the default port: any port that is left is another one.
  if (port !== "") return "it has another port";
  return isPublicName(hostname) ? null : "its name is not public";
}

/** A destination as it is called, or what is wrong with it. */
export type Destination = { readonly url: string } | { readonly fault: string };

/**
 * Reads a webhook destination: a public HTTPS URL on port 443. The text is parsed first
 * and checked then, because the WHATWG parser turns `0x7f.1`, `2130706433` and `①②⑦.0.0.1` into 127.0.0.1. Names are
 * resolved and checked again at delivery. `allowedPrivateHosts` are `host:port` pairs that pass all the same, those of
 * this machine without TLS too: for development.
 */
export function readDestination(
  text: string,
  allowedPrivateHosts: ReadonlySet<string> = new Set(),
): Destination {
  const tooLong = { fault: `it has more than ${URL_CHARACTERS_MAX} characters` };
  if (text.length > URL_CHARACTERS_MAX) return tooLong;
  const url = URL.parse(text);
  if (url === null) return { fault: "it is no URL such as https://app.example.com/hook" };
  if (hasCredentials(url)) return { fault: "it holds a user or a password" };
  url.hostname = url.hostname.replace(/\.$/, "");
  const isAllowed = isListable(url) && allowedPrivateHosts.has(pairOf(url));
  const fault = isAllowed ? null : publicFault(url);
  if (fault !== null) return { fault };
  url.hash = "";
  return url.href.length > URL_CHARACTERS_MAX ? tooLong : { url: url.href };
}
