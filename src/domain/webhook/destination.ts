/** The longest destination, in characters: as it is given, and as it is called. */
export const URL_CHARACTERS_MAX = 2_000;

/** Names that never leave a private network (RFC 6761, RFC 6762, RFC 8375, ICANN's `.internal`). */
const PRIVATE_NAMES = [".localhost", ".local", ".internal", ".home.arpa", ".test", ".invalid", ".onion"];
const NAME = /^(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$/;

/** A fully qualified name. Addresses are refused, public ones too: a certificate is checked for a name. */
function isPublicName(hostname: string): boolean {
  return NAME.test(hostname) && !PRIVATE_NAMES.some((suffix) => hostname.endsWith(suffix));
}

/**
 * The normalised form of a webhook destination; null when it is not a public HTTPS URL on port 443
 * (spec: INVALID_WEBHOOK_URL). The text is parsed first and checked then, because the WHATWG parser turns
 * `0x7f.1`, `2130706433` and `①②⑦.0.0.1` into 127.0.0.1. Names are resolved and checked again at delivery.
 * `allowedPrivateHosts` are `host:port` pairs that pass all the same: for development.
 */
export function normaliseDestination(
  text: string,
  allowedPrivateHosts: ReadonlySet<string> = new Set(),
): string | null {
  if (text.length > URL_CHARACTERS_MAX || !URL.canParse(text)) return null;
  const url = new URL(text);
  if (url.protocol !== "https:" || url.username !== "" || url.password !== "") return null;
  url.hostname = url.hostname.replace(/\.$/, "");
  // The parser drops the default port: any port that is left is another one.
  const isPublic = url.port === "" && isPublicName(url.hostname);
  if (!isPublic && !allowedPrivateHosts.has(`${url.hostname}:${url.port || 443}`)) return null;
  url.hash = "";
  return url.href.length > URL_CHARACTERS_MAX ? null : url.href;
}
