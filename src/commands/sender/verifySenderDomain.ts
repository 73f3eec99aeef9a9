import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { type EpochMs, HOUR_MS } from "../../kernel/time.ts";
import type { DnsResolver } from "../../ports/dnsResolver.ts";
import type { Dependencies } from "../dependencies.ts";
import { FixedWindowCounter } from "../fixedWindowCounter.ts";
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
  const lookups = new FixedWindowCounter(HOUR_MS, WORKSPACES_MAX);

  return async function verifySenderDomain(
    { id, sender }: SenderView,
    context: CommandContext,
  ): Promise<DomainOutcome> {
    if (sender.verifiedBy !== null) return { kind: "verified" };
    const { events, restMs } = lookups.count(sender.workspaceId, context.at);
    if (events > LOOKUPS_MAX) return { kind: "limited", againAt: (context.at + restMs) as EpochMs };
    const expected = domainRecordOf(deps.keys, sender.workspaceId, sender.name);
    const published = await lookUpRecord(dns, expected);
    if (published === "failing") return { kind: "zoneFailing", expected };
    if (!published.isThere) return { kind: "recordMissing", expected, found: published.found };
    await markVerified(deps, id, "dns", context);
    return { kind: "verified" };
  };
}

/** Why a domain is not verified, as a sentence for its owner. */
export function domainRecordFault(outcome: Exclude<DomainOutcome, { kind: "verified" }>): string {
  if (outcome.kind === "limited") return "there were too many look-ups; try again later";
  const { name, value } = outcome.expected;
  if (outcome.kind === "zoneFailing")
    return `the name servers of ${name} fail (SERVFAIL), so its TXT record could not be read: try again later`;
  return outcome.found.length === 0
    ? `there is no TXT record of ${name}: publish one that is "${value}"`
    : `no TXT record of ${name} is "${value}": found ${foundText(outcome.found)}`;
}

/** How many strings of records an answer repeats, and how many characters of each. */
const FOUND_STRINGS_MAX = 3;
const FOUND_CHARACTERS_MAX = 100;

/** What was found instead of the record. Anybody may have written it, so only visible characters are repeated. */
function foundText(found: readonly string[]): string {
  const shown = found.slice(0, FOUND_STRINGS_MAX).map((text) => {
    const cut = [...text.slice(0, 2 * FOUND_CHARACTERS_MAX)].slice(0, FOUND_CHARACTERS_MAX).join("");
    return `"${cut.replace(/[^\x20-\x7e]/g, "?")}"${cut.length < text.length ? " and more" : ""}`;
  });
  const others = found.length - shown.length;
  return `${shown.join(", ")}${others > 0 ? ` and ${others} other strings` : ""}`;
}
