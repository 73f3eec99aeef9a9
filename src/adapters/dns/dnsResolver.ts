import { Resolver } from "node:dns/promises";
import { settleWithin } from "../../kernel/sleep.ts";
import { type DnsResolver, DnsUnavailableError } from "../../ports/dnsResolver.ts";

/** NXDOMAIN, and a name without records of this type. */
const NONE = new Set(["ENOTFOUND", "ENODATA"]);
/** Our name servers answer, and say that those of the zone do not, or that what they say does not hold (DNSSEC). */
const FAILING = "ESERVFAIL";
const TRIES = 2;

/**
 * Asks the machine's name servers, or `servers` (`address` or `address:port`; IPv6 in brackets before a port).
 * A resolver of its own for each question: none remembers an answer.
 */
export function createDnsResolver(servers: readonly string[]): DnsResolver {
  return {
    async resolveTxt(name, timeoutMs) {
      const resolver = new Resolver({ timeout: Math.ceil(timeoutMs / TRIES), tries: TRIES });
      if (servers.length > 0) resolver.setServers([...servers]);
      // The resolver's own time-out is for one try at one server, and there may be many.
      const giveUp = () => {
        throw new DnsUnavailableError("the name servers took too long");
      };
      try {
        // Bun gives every string as a record of its own, Node joins none: flat, both are the same.
        return (await settleWithin(timeoutMs, resolver.resolveTxt(name), giveUp)).flat();
      } catch (error) {
        if (error instanceof DnsUnavailableError) throw error;
        const { code = "unknown" } = error as NodeJS.ErrnoException;
        if (NONE.has(code)) return "none";
        if (code === FAILING) return "failing";
        throw new DnsUnavailableError(`the name servers gave no answer (${code})`);
      } finally {
        resolver.cancel();
      }
    },
  };
}
