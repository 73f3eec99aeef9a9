import { domainToASCII } from "node:url";

/** The longest address that a request may have, in characters. */
export const ADDRESS_CHARACTERS_MAX = 320;
const LOCAL_OCTETS_MAX = 64;
/** RFC 5321 §4.5.3.1.2; with the local part and the @ that makes 320. */
const DOMAIN_OCTETS_MAX = 255;
/**
 * A longer text is refused before it costs anything. A domain may be written longer than its ASCII form, but not longer
 * than the longest address; a character has at most two UTF-16 units.
 */
const DOMAIN_UNITS_MAX = 2 * ADDRESS_CHARACTERS_MAX;

/** A dot-atom of RFC 5321 §4.1.2. Quoted local parts are refused, because no mailbox in use needs one. */
const LOCAL = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
/** The last label must not be all digits, because that would be an IP address (RFC 3696 §2). */
const DOMAIN = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+(?!\d+$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
/** ASCII that no domain contains. `domainToASCII` would cut at `/`, `?` and `#` and decode `%`: another domain. */
const NOT_IN_DOMAIN = /[\0-,/:-@[-`{-\x7f]/;
/**
 * Characters that are not seen, and that IDNA's mapping would drop (UTS #46 §4, "ignored"): the mail would go to another
 * domain than was given. Whether a joiner may stand where it does is for `domainToASCII` to say (RFC 5892, appendix A).
 */
const DROPPED_FROM_DOMAIN = /(?![\u200c\u200d])\p{Default_Ignorable_Code_Point}/u;

/**
 * A domain already in its ASCII form. The last label begins with a letter, because one that looks like a number may
 * belong to an IP address. No label begins with `xn--`, because special rules apply to what follows.
 */
const PLAIN_DOMAIN =
  /^(?!(?:.*\.)?xn--)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** The domain in lower-case ASCII (RFC 5891); null if it is not a fully qualified name. */
export function parseDomain(text: string): string | null {
  if (text.length <= DOMAIN_OCTETS_MAX && PLAIN_DOMAIN.test(text)) return text;
  if (text.length > DOMAIN_UNITS_MAX || NOT_IN_DOMAIN.test(text)) return null;
  if (DROPPED_FROM_DOMAIN.test(text)) return null;
  const domain = domainToASCII(text).toLowerCase();
  return domain.length <= DOMAIN_OCTETS_MAX && DOMAIN.test(domain) ? domain : null;
}

export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf("@") + 1);
}

/** A valid address: `sent` goes into the envelope, `canonical` is for comparing addresses. */
export interface Address {
  /** The local part as given, the domain in lower-case ASCII (RFC 5891). */
  readonly sent: string;
  /** `sent` with the local part in lower case, so nobody is suppressed in one spelling and not in another. */
  readonly canonical: string;
}

/** Parses one addr-spec: no display name, no comments, no list. The reason is for the person who sent it. */
export function parseAddress(text: string): Address | { readonly invalid: string } {
  const at = text.lastIndexOf("@");
  if (at < 1 || /[\s<>(),;:"\\[\]]/.test(text))
    return { invalid: "must be one bare address such as ana@example.com" };
  const local = text.slice(0, at);
  if (local.includes("@")) return { invalid: "has more than one @" };
  if (/^\.|\.\.|\.$/.test(local)) {
    return { invalid: "has a local part (before the @) that begins or ends with a dot, or has two in a row" };
  }
  // The length first: the pattern would take seconds for megabytes.
  if (local.length > LOCAL_OCTETS_MAX || !LOCAL.test(local)) {
    return { invalid: "has a local part (before the @) that is not 1 to 64 plain ASCII characters" };
  }
  const given = text.slice(at + 1);
  const domain = parseDomain(given);
  if (domain === null) {
    const why = DROPPED_FROM_DOMAIN.test(given)
      ? "holds an invisible character"
      : "is not a fully qualified name";
    return { invalid: `has a domain (after the @) that ${why}` };
  }
  const sent = `${local}@${domain}`;
  return { sent, canonical: sent.toLowerCase() };
}
