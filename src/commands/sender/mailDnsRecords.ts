import { type DkimKey, type DkimRecord, dkimRecord } from "../../kernel/crypto/dkimKeys.ts";
import { dkimKeyFault } from "../../kernel/mail/dkimKeyFault.ts";
import { dmarcFault } from "../../kernel/mail/dmarcFault.ts";
import { parseTagList } from "../../kernel/mail/parseTagList.ts";
import { spfFault } from "../../kernel/mail/spfFault.ts";
import { type DnsResolver, DnsUnavailableError } from "../../ports/dnsResolver.ts";

const LOOKUP_MS_MAX = 5_000;

/** The records by which receivers authenticate mail from a domain (RFC 7208, RFC 6376, RFC 7489). */
type MailRecordKind = "SPF" | "DKIM" | "DMARC";

/** A TXT record that a domain should publish. */
export interface MailRecord extends DkimRecord {
  readonly kind: MailRecordKind;
}

/** What was found where a record should be. `unknown`: the look-up failed, so it may exist or not. */
export interface MailRecordFinding {
  readonly kind: MailRecordKind;
  readonly name: string;
  readonly status: "ok" | "missing" | "wrong" | "unknown";
  readonly detail: string;
}

/** The domain whose records are checked. */
interface MailDomain {
  readonly domain: string;
  /** The domain of envelope senders, to which SPF applies: the domain itself, or that of a return path. */
  readonly envelopeDomain: string;
  /** The keys that we sign its mail with. */
  readonly keys: readonly DkimKey[];
  /** The selectors of the keys that its relay signs with. */
  readonly selectors: readonly string[];
}

/** The records that a domain should publish. Only the relay can say what SPF must include for it. */
export function mailRecords({
  domain,
  envelopeDomain,
  keys,
}: Omit<MailDomain, "selectors">): readonly MailRecord[] {
  return [
    { kind: "SPF", name: envelopeDomain, value: "v=spf1 include:<as your relay says> ~all" },
    ...keys.map((key) => ({ kind: "DKIM" as const, ...dkimRecord(key) })),
    { kind: "DMARC", name: `_dmarc.${domain}`, value: "v=DMARC1; p=none" },
  ];
}

/** Looks up what a domain publishes. If a name server does not answer, the record does not count as missing. */
export async function findMailRecords(
  dns: DnsResolver,
  { domain, envelopeDomain, keys, selectors }: MailDomain,
): Promise<readonly MailRecordFinding[]> {
  return Promise.all([
    spfFinding(dns, envelopeDomain).then((finding) => ({
      ...finding,
      detail: `${finding.detail}${alignmentRemark(domain, envelopeDomain)}`,
    })),
    ...keys.map((key) => ownKeyFinding(dns, key)),
    ...selectors.map((selector) => relayKeyFinding(dns, `${selector}._domainkey.${domain}`)),
    dmarcFinding(dns, domain),
  ]);
}

/**
 * Added to what SPF says, because DMARC counts it only if both domains belong to one organisation (RFC 7489 §3.1.2). Only
 * receivers' lists say which is the organisational domain, so two subdomains of one domain are a "may" too.
 */
function alignmentRemark(domain: string, envelopeDomain: string): string {
  const isWithin = (one: string, other: string) => one === other || one.endsWith(`.${other}`);
  if (isWithin(domain, envelopeDomain) || isWithin(envelopeDomain, domain)) return "";
  return `; for DMARC ${envelopeDomain} may not align with ${domain}: a RETURN_PATH_DOMAIN below ${domain} does`;
}

type Found = readonly string[] | { readonly unknown: string };

async function lookUp(dns: DnsResolver, name: string): Promise<Found> {
  try {
    const strings = await dns.resolveTxt(name, LOOKUP_MS_MAX);
    if (strings === "failing") return { unknown: "the name servers of the domain do not answer" };
    return strings === "none" ? [] : strings;
  } catch (error) {
    if (error instanceof DnsUnavailableError) return { unknown: error.message };
    throw error;
  }
}

async function spfFinding(dns: DnsResolver, name: string): Promise<MailRecordFinding> {
  const found = await lookUp(dns, name);
  const base = { kind: "SPF", name } as const;
  if ("unknown" in found) return { ...base, status: "unknown", detail: found.unknown };
  const records = found.filter((text) => /^v=spf1( |$)/i.test(text));
  const [record] = records;
  if (record === undefined) {
    return { ...base, status: "missing", detail: "publish a TXT record that includes your relay's" };
  }
  if (records.length > 1)
    return { ...base, status: "wrong", detail: "there are several, which count as none (RFC 7208 §4.5)" };
  return judged(base, record, spfFault(record));
}

/** A record that is there: what it says, or why it does not do what it is for. */
function judged(
  base: Pick<MailRecordFinding, "kind" | "name">,
  record: string,
  fault: string | null,
): MailRecordFinding {
  return fault === null
    ? { ...base, status: "ok", detail: record }
    : { ...base, status: "wrong", detail: fault };
}

async function ownKeyFinding(dns: DnsResolver, key: DkimKey): Promise<MailRecordFinding> {
  const { name, value } = dkimRecord(key);
  const finding = await relayKeyFinding(dns, name);
  if (finding.status === "missing") return { ...finding, detail: `publish ${value}` };
  if (finding.status === "wrong") return { ...finding, detail: `${finding.detail}: publish ${value}` };
  if (finding.status !== "ok") return finding;
  const isOurs = publicKeyIn(finding.detail) === publicKeyIn(value);
  return isOurs
    ? { ...finding, detail: "the key that we sign with" }
    : { ...finding, status: "wrong", detail: `has another key: publish ${value}` };
}

/** A key that somebody else signs with: we can only check that it is one. */
async function relayKeyFinding(dns: DnsResolver, name: string): Promise<MailRecordFinding> {
  const found = await lookUp(dns, name);
  const base = { kind: "DKIM", name } as const;
  if ("unknown" in found) return { ...base, status: "unknown", detail: found.unknown };
  // A record over 255 bytes comes in pieces, which are joined with nothing between them.
  const record = found.join("");
  const key = publicKeyIn(record);
  if (key === null) return { ...base, status: "missing", detail: "there is no key" };
  if (/v=DKIM1.*v=DKIM1/i.test(record))
    return { ...base, status: "wrong", detail: "there are several records" };
  return judged(base, record, dkimKeyFault(record));
}

/** The value of p=, without white space (RFC 6376 §3.6.1); null if there is none. */
function publicKeyIn(record: string): string | null {
  return parseTagList(record).get("p")?.replace(/\s/g, "") ?? null;
}

/** Looks at the domain, then at each one above it: only receivers' lists say which is the organisational domain. */
async function dmarcFinding(dns: DnsResolver, domain: string): Promise<MailRecordFinding> {
  const base = { kind: "DMARC", name: `_dmarc.${domain}` } as const;
  for (let name = domain; name.includes("."); name = name.slice(name.indexOf(".") + 1)) {
    const at = `_dmarc.${name}`;
    const found = await lookUp(dns, at);
    if ("unknown" in found) return { ...base, name: at, status: "unknown", detail: found.unknown };
    const records = found.filter((text) => /^v=DMARC1\s*(;|$)/.test(text));
    const [record] = records;
    if (records.length > 1) {
      const detail = "there are several, which count as none (RFC 7489 §6.6.3)";
      return { ...base, name: at, status: "wrong", detail };
    }
    if (record !== undefined) return judged({ ...base, name: at }, record, dmarcFault(record));
  }
  return { ...base, status: "missing", detail: "publish v=DMARC1; p=none, and a stricter policy later" };
}
