import { LRUCache } from "lru-cache";
import { noteRecord } from "../../domain/sender/decisions.ts";
import type { InstanceKeys } from "../../kernel/crypto/instanceKeys.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { type EpochMs, HOUR_MS } from "../../kernel/time.ts";
import type { DnsResolver } from "../../ports/dnsResolver.ts";
import type { Dependencies } from "../dependencies.ts";
import { markVerified, transactSender } from "./manageSender.ts";
import type { SenderView } from "./readSender.ts";

const LOOKUP_MS_MAX = 5_000;
/** Look-ups for one workspace within an hour, on each instance. */
const LOOKUPS_MAX = 60;
const WORKSPACES_MAX = 10_000;

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
async function lookUp(dns: DnsResolver, { name, value }: DomainRecord): Promise<Published> {
  const strings = await dns.resolveTxt(name, LOOKUP_MS_MAX);
  if (strings === "failing") return strings;
  const found = strings === "none" ? [] : strings;
  return { isThere: holdsRecord(found, value), found };
}

/**
 * Looks again for the record that verified a domain, and records a change. Disables nothing, because a zone may be broken
 * for a day. Throws `DnsUnavailableError`.
 */
export async function recheckSenderDomain(
  deps: Dependencies,
  dns: DnsResolver,
  id: string,
  context: Omit<CommandContext, "workspaceId">,
): Promise<{ readonly outcome: "missing" | "found" | "unchanged"; readonly workspaceId: string }> {
  const sender = await deps.senders.get(id);
  if (sender === null || sender.verifiedBy !== "dns") return { outcome: "unchanged", workspaceId: "" };
  const { workspaceId, name } = sender;
  const published = await lookUp(dns, domainRecordOf(deps.keys, workspaceId, name));
  // A failing zone says nothing about the record.
  if (published === "failing") return { outcome: "unchanged", workspaceId };
  const { isThere } = published;
  const of = { ...context, workspaceId };
  const outcome = await transactSender(deps, id, (state) => noteRecord(state, isThere, context.at), of);
  return { outcome, workspaceId };
}

type DomainOutcome =
  | { readonly kind: "verified" }
  /** `found`: the strings of the TXT records that are there. The domain's owner may have written anything into them. */
  | { readonly kind: "recordMissing"; readonly expected: DomainRecord; readonly found: readonly string[] }
  /** The name servers of the domain's zone fail; it may be tried again. */
  | { readonly kind: "zoneFailing"; readonly expected: DomainRecord }
  | { readonly kind: "limited"; readonly againAt: EpochMs };

/** Builds the command that looks for a domain's record and verifies the sender. Throws `DnsUnavailableError`. */
export function domainVerification(deps: Dependencies, dns: DnsResolver) {
  const windows = new LRUCache<string, { readonly endsAt: EpochMs; lookups: number }>({
    max: WORKSPACES_MAX,
  });

  /** Counts a look-up. Null if it is allowed, else the time from which one is. */
  const countLookup = (workspaceId: string, now: EpochMs): EpochMs | null => {
    const known = windows.get(workspaceId);
    const current = known && known.endsAt > now ? known : { endsAt: now + HOUR_MS, lookups: 0 };
    if (current.lookups >= LOOKUPS_MAX) return current.endsAt;
    current.lookups += 1;
    windows.set(workspaceId, current);
    return null;
  };

  return async function verifySenderDomain(
    { id, sender }: SenderView,
    context: CommandContext,
  ): Promise<DomainOutcome> {
    if (sender.verifiedBy !== null) return { kind: "verified" };
    const againAt = countLookup(sender.workspaceId, context.at);
    if (againAt !== null) return { kind: "limited", againAt };
    const expected = domainRecordOf(deps.keys, sender.workspaceId, sender.name);
    const published = await lookUp(dns, expected);
    if (published === "failing") return { kind: "zoneFailing", expected };
    if (!published.isThere) return { kind: "recordMissing", expected, found: published.found };
    await markVerified(deps, id, "dns", context);
    return { kind: "verified" };
  };
}
