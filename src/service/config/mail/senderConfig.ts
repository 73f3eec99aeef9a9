import { isIPv4, isIPv6 } from "node:net";
import { parseAddress } from "../../../kernel/text/emailAddress.ts";
import { wholeNumber } from "../../../kernel/text/wholeNumber.ts";
import { DAY_MS } from "../../../kernel/time.ts";
import { type EnvironmentReader, PORTS } from "../environmentReader.ts";

/** How sending addresses and domains are verified. */
export type SenderConfig = Readonly<ReturnType<typeof readSenderConfig>>;

export function readSenderConfig(reader: EnvironmentReader) {
  return {
    /** The from address of mail with verification links; null: addresses cannot be verified by mail. */
    verificationFrom: reader.parsed("VERIFICATION_FROM", bareAddress, A_BARE_ADDRESS),
    /** Name servers to query for domains' records, `address` or `address:port`; none: the machine's own. */
    dnsServers: dnsServers(reader),
    /** How often to check verified domains again; 0: never. */
    domainRecheckIntervalMs: reader.integer("DOMAIN_RECHECK_INTERVAL_MS", DAY_MS, {
      min: 0,
      max: 24 * DAY_MS,
    }),
  };
}

const A_BARE_ADDRESS = "one bare address such as postmaster@example.com";

function bareAddress(text: string): string | null {
  const address = parseAddress(text);
  return "sent" in address ? address.sent : null;
}

function dnsServers(reader: EnvironmentReader): readonly string[] {
  const servers = reader.list("DNS_SERVERS");
  const isServer = (server: string) => {
    const [, bracketed, plain, port = "53"] = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(server) ?? [];
    const isHost = isIPv6(server) || isIPv6(bracketed ?? "") || isIPv4(plain ?? "");
    return isHost && wholeNumber(port, PORTS) !== null;
  };
  const must = "IP addresses, separated by commas: 192.0.2.53,[2001:db8::53]:53";
  reader.requireEach("DNS_SERVERS", servers, isServer, must);
  return servers;
}
