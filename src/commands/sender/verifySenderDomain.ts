import { LRUCache } from "lru-cache";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { type EpochMs, HOUR_MS } from "../../kernel/time.ts";
import type { DnsResolver } from "../../ports/dnsResolver.ts";
import type { Dependencies } from "../dependencies.ts";
import { type DomainRecord, domainRecordOf, lookUpRecord } from "./domainRecord.ts";
import { markVerified } from "./manageSender.ts";
import type { SenderView } from "./readSender.ts";

/** Look-ups for one workspace within an hour, on each instance. */
const LOOKUPS_MAX = 60;
const WORKSPACES_MAX = 10_000;

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
    const published = await lookUpRecord(dns, expected);
    if (published === "failing") return { kind: "zoneFailing", expected };
    if (!published.isThere) return { kind: "recordMissing", expected, found: published.found };
    await markVerified(deps, id, "dns", context);
    return { kind: "verified" };
  };
}
