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
const DEFAULT_PORTS: Readonly<Record<string, string>> = { "https:": "443", "http:": "80" };

/** The `host:port` that a destination has to be listed as for development; null for what is no URL of a host. */
export function privateHostOf(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const { protocol, hostname, port } = new URL(text);
  const usual = DEFAULT_PORTS[protocol];
  return usual === undefined ? null : `${hostname.replace(/\.$/, "")}:${port || usual}`;
}

/**
 * The normalised form of a webhook destination; null when it is not a public HTTPS URL on port 443
 * (spec: INVALID_WEBHOOK_URL). The text is parsed first and checked then, because the WHATWG parser turns
 * `0x7f.1`, `2130706433` and `①②⑦.0.0.1` into 127.0.0.1. Names are resolved and checked again at delivery.
 * `allowedPrivateHosts` are `host:port` pairs that pass all the same, those of this machine without TLS too: for
 * development.
 */
export function normaliseDestination(
  text: string,
  allowedPrivateHosts: ReadonlySet<string> = new Set(),
): string | null {
  if (text.length > URL_CHARACTERS_MAX || !URL.canParse(text)) return null;
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") return null;
  url.hostname = url.hostname.replace(/\.$/, "");
  const isAllowed = allowedPrivateHosts.has(privateHostOf(url.href) ?? "");
  // The parser drops the default port: any port that is left is another one.
  const isPublic = url.protocol === "https:" && url.port === "" && isPublicName(url.hostname);
  const isHere = url.protocol === "https:" || LOOPBACK.has(url.hostname);
  if (!isPublic && !(isAllowed && isHere)) return null;
  url.hash = "";
  return url.href.length > URL_CHARACTERS_MAX ? null : url.href;
}
