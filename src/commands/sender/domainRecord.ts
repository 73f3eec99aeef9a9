import type { InstanceKeys } from "../../kernel/crypto/instanceKeys.ts";
import type { DnsResolver } from "../../ports/dnsResolver.ts";

const LOOKUP_MS_MAX = 5_000;

/** The TXT record that lets a workspace send from a domain. */
export interface DomainRecord {
  readonly name: string;
  readonly value: string;
}

export function domainRecordOf(keys: InstanceKeys, workspaceId: string, domain: string): DomainRecord {
  const proof = keys.domainProof(workspaceId, domain);
  return { name: `_postledger.${domain}`, value: `postledger-verification=${proof}` };
}

/**
 * Whether some record is `value`. A record may come as several strings without a mark where it ends, so any run of them
 * counts: whoever published the parts has published the whole.
 */
function holdsRecord(strings: readonly string[], value: string): boolean {
  // Without empty strings no run is longer than the value, so the work is bounded.
  const parts = strings.filter((text) => text !== "");
  return parts.some((_, start) => {
    let rest = value;
    for (let index = start; rest !== ""; index += 1) {
      const text = parts[index];
      if (text === undefined || !rest.startsWith(text)) return false;
      rest = rest.slice(text.length);
    }
    return true;
  });
}

/** Whether the record is there, and the strings of all TXT records of its name. */
type Published = { readonly isThere: boolean; readonly found: readonly string[] } | "failing";

/** Whether the record is published now. Throws `DnsUnavailableError`. */
export async function lookUpRecord(dns: DnsResolver, { name, value }: DomainRecord): Promise<Published> {
  const strings = await dns.resolveTxt(name, LOOKUP_MS_MAX);
  if (strings === "failing") return strings;
  const found = strings === "none" ? [] : strings;
  return { isThere: holdsRecord(found, value), found };
}
