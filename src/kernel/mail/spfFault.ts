import ipaddr from "ipaddr.js";

const MACRO = String.raw`%(?:\{[slodiphcrtv]\d*r?[.\-+,/_=]*\}|[%_-])`;
const MACRO_STRING = new RegExp(`^(?:${MACRO}|[!-$&-~])*$`, "i");
/** It ends with a label that is not a number, or with a macro. */
const DOMAIN_END = /(?:\.(?!\d+\.?$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.?|\})$/i;
const DUAL_PREFIX = /^(?:\/(?:3[0-2]|[12]?\d))?(?:\/\/(?:12[0-8]|1[01]\d|[1-9]?\d))?$/;
const MODIFIER = /^([a-z][a-z0-9_.-]*)=(.*)$/i;
const DIRECTIVE = /^([-+?~]?)([a-z][a-z0-9_.-]*)(.*)$/i;

function isDomainSpec(text: string): boolean {
  return MACRO_STRING.test(text) && DOMAIN_END.test(text);
}

/** An optional domain, and the lengths of a prefix of IPv4 and of IPv6. */
function isDomainAndPrefix(text: string): boolean {
  const [, domain, prefix = ""] = /^(?::([^/]*(?:\{[^}]*\}[^/]*)*))?(.*)$/.exec(text) ?? [];
  return (domain === undefined || isDomainSpec(domain)) && DUAL_PREFIX.test(prefix);
}

function isNetwork(text: string, family: 4 | 6): boolean {
  const [, address = "", prefix] = /^:([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const isAddress = family === 4 ? ipaddr.IPv4.isValidFourPartDecimal(address) : ipaddr.IPv6.isValid(address);
  return isAddress && Number(prefix ?? 0) <= (family === 4 ? 32 : 128);
}

const afterColon = (text: string) => text.startsWith(":") && isDomainSpec(text.slice(1));

/** The mechanisms, and whether the rest of a term is what each takes (RFC 7208 §5). */
const MECHANISMS: Readonly<Record<string, (rest: string) => boolean>> = {
  all: (rest) => rest === "",
  include: afterColon,
  a: isDomainAndPrefix,
  mx: isDomainAndPrefix,
  ptr: (rest) => rest === "" || afterColon(rest),
  ip4: (rest) => isNetwork(rest, 4),
  ip6: (rest) => isNetwork(rest, 6),
  exists: afterColon,
};
const NAMES = Object.keys(MECHANISMS).join(", ");

/** What is wrong with one term; null for nothing. Modifiers with other names are for the future (RFC 7208 §6). */
function termFault(term: string): string | null {
  const [, modifier, value = ""] = MODIFIER.exec(term) ?? [];
  if (modifier !== undefined) {
    const isDomain = /^(?:redirect|exp)$/i.test(modifier);
    const isValid = isDomain ? isDomainSpec(value) : MACRO_STRING.test(value);
    return isValid ? null : `${term} has a value that is not allowed`;
  }
  const [, , name = "", rest = ""] = DIRECTIVE.exec(term) ?? [];
  const takes = MECHANISMS[name.toLowerCase()];
  if (takes === undefined) return `${term} begins with none of ${NAMES}`;
  return takes(rest) ? null : `${term} lacks a value, or has one that is not allowed`;
}

/** Why an SPF record does not do what it is for, and what to do; null if it does. */
export function spfFault(record: string): string | null {
  const terms = record
    .split(" ")
    .filter((term) => term !== "")
    .slice(1);
  const fault = terms.map(termFault).find((one) => one !== null);
  if (fault !== undefined) return `${fault}, so all of the record fails (permerror, RFC 7208): correct it`;
  for (const name of ["redirect", "exp"]) {
    if (terms.filter((term) => term.toLowerCase().startsWith(`${name}=`)).length > 1)
      return `${name}= is there more than once, so all of the record fails (permerror, RFC 7208): keep one`;
  }
  const all = terms.find((term) => /^[-+?~]?all$/i.test(term));
  if (all === undefined || !/^\+?all$/i.test(all)) return null;
  return `${all} lets everybody send for the domain: end the record with ~all or -all`;
}
