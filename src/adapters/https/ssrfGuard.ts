import { Resolver } from "node:dns/promises";
import { settleWithin } from "../../kernel/concurrency/sleep.ts";
import { isNeverAllowed, isPublicAddress } from "../../kernel/network/publicIp.ts";
import type { DestinationCheck } from "../../ports/webhookTransport.ts";

/** How long one resolver query may take, including its retry. */
const DNS_TIMEOUT_MS = 3_000;
const DNS_TRIES = 2;
/** How many names to ask a resolver for before replacing it. */
const RESOLVER_NAMES_MAX = 1_000;

export interface DestinationOptions {
  /** `address` or `address:port` of the name servers to ask; empty: the system's. */
  readonly dnsServers: readonly string[];
  /** `host:port` pairs that may have private addresses, for development. */
  readonly allowedPrivateHosts: ReadonlySet<string>;
}

/** A vetted address, or why there is none. */
export type DestinationAddress =
  | { readonly kind: "address"; readonly address: string; readonly family: 4 | 6 }
  | { readonly kind: "refused"; readonly reason: "dns" | "destination_not_public" };

/** Names of this machine that need no name server (RFC 6761 §6.3). */
const LOOPBACK: ReadonlySet<string> = new Set(["localhost", "127.0.0.1"]);
const HERE: DestinationAddress = { kind: "address", address: "127.0.0.1", family: 4 };

/** DNS answers that there are no records, which is not the same as no answer. */
const NOTHING: ReadonlySet<string> = new Set(["ENODATA", "ENOTFOUND"]);

/**
 * Finds the one address for a call to `host`. If any of its addresses is not public, all are refused: a name that also
 * points into a private network is not trusted at all.
 */
export function destinationAddresses({ dnsServers, allowedPrivateHosts }: DestinationOptions) {
  const resolverFor = resolvers(dnsServers);
  return async (host: string, port: number): Promise<DestinationAddress> => {
    const isAllowed = allowedPrivateHosts.has(`${host}:${port}`);
    if (LOOPBACK.has(host)) return isAllowed ? HERE : { kind: "refused", reason: "destination_not_public" };
    const resolver = resolverFor(host);
    const answers = await Promise.all([
      addressesOf(resolver.resolve4(host)),
      addressesOf(resolver.resolve6(host)),
    ]);
    const [v4, v6] = answers;
    // If one family got no answer, it could hide an address that would refuse the other.
    if (v4 === null || v6 === null || v4.length + v6.length === 0) return { kind: "refused", reason: "dns" };
    const isVetted = isAllowed ? (address: string) => !isNeverAllowed(address) : isPublicAddress;
    if (![...v4, ...v6].every(isVetted)) return { kind: "refused", reason: "destination_not_public" };
    return v4.length > 0 ? anyOf(v4, 4) : anyOf(v6, 6);
  };
}

function anyOf(addresses: readonly string[], family: 4 | 6): DestinationAddress {
  const address = addresses[Math.floor(Math.random() * addresses.length)] as string;
  return { kind: "address", address, family };
}

/** Looks up where destinations lead when they are registered. Later, each call looks them up again. */
export function ssrfCheck(options: DestinationOptions): DestinationCheck {
  const addressOf = destinationAddresses(options);
  return {
    async isPrivate(url) {
      const { hostname } = new URL(url);
      // The resolver's own time-out applies to one try at one server, and there may be many.
      const found = await settleWithin<DestinationAddress | null>(
        DNS_TIMEOUT_MS,
        addressOf(hostname, portOf(url)),
        () => null,
      );
      return found?.kind === "refused" && found.reason === "destination_not_public";
    },
  };
}

/** The port of a destination, which URLs omit if it is the default. */
export function portOf(url: string): number {
  const { protocol, port } = new URL(url);
  return Number(port || (protocol === "http:" ? 80 : 443));
}

/**
 * A resolver (c-ares) caches answers for up to an hour. Every attempt must look up the name again, so we ask no
 * resolver for a name twice. A new one for each look-up would cost as much as the look-up.
 */
function resolvers(dnsServers: readonly string[]): (host: string) => Resolver {
  let resolver: Resolver | null = null;
  const visited = new Set<string>();
  return (host) => {
    if (resolver === null || visited.has(host) || visited.size >= RESOLVER_NAMES_MAX) {
      resolver = new Resolver({ timeout: DNS_TIMEOUT_MS / DNS_TRIES, tries: DNS_TRIES });
      if (dnsServers.length > 0) resolver.setServers([...dnsServers]);
      visited.clear();
    }
    visited.add(host);
    return resolver;
  };
}

/** The answers; empty if the name has none of this kind, null if no server answered. */
async function addressesOf(query: Promise<readonly string[]>): Promise<readonly string[] | null> {
  try {
    return await query;
  } catch (error) {
    return NOTHING.has((error as { code?: string }).code ?? "") ? [] : null;
  }
}
