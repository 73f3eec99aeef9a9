import { Resolver } from "node:dns/promises";
import { settleWithin } from "../../kernel/concurrency/sleep.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import { type DnsResolver, DnsUnavailableError } from "../../ports/dnsResolver.ts";

/** NXDOMAIN, and a name without records of this type. */
const NONE = new Set(["ENOTFOUND", "ENODATA"]);
/** Our name servers answer that those of the zone do not, or that their answer fails DNSSEC validation. */
const FAILING = "ESERVFAIL";
const TRIES = 2;

/**
 * Asks the machine's name servers, or `servers` (`address` or `address:port`; IPv6 in brackets before a port).
 * Each question gets a new resolver, so no answer is cached.
 */
export function createDnsResolver(servers: readonly string[]): DnsResolver {
  return {
    async resolveTxt(name, timeoutMs) {
      const resolver = new Resolver({ timeout: Math.ceil(timeoutMs / TRIES), tries: TRIES });
      if (servers.length > 0) resolver.setServers([...servers]);
      // The resolver's own time-out applies to one try at one server, and there may be many.
      const giveUp = () => {
        throw new DnsUnavailableError(`DNS did not answer within ${timeoutMs / SECOND_MS} s`);
      };
      try {
        // Bun returns every string as its own record, Node groups those of a record; `flat` makes both equal.
        return (await settleWithin(timeoutMs, resolver.resolveTxt(name), giveUp)).flat();
      } catch (error) {
        if (error instanceof DnsUnavailableError) throw error;
        const { code = "unknown" } = error as NodeJS.ErrnoException;
        if (NONE.has(code)) return "none";
        if (code === FAILING) return "failing";
        throw new DnsUnavailableError(`DNS gave no answer (${code})`);
      } finally {
        resolver.cancel();
      }
    },
  };
}
