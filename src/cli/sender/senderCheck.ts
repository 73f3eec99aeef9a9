import { createDnsResolver } from "../../adapters/dns/dnsResolver.ts";
import { findMailRecords, type MailRecordFinding } from "../../commands/sender/mailDnsRecords.ts";
import { dkimKeysFor } from "../../kernel/crypto/dkimKeys.ts";
import { parseDomain } from "../../kernel/text/emailAddress.ts";
import { type Command, UsageError } from "../program/command.ts";

const DOMAIN = { name: "domain", help: "acme.example, the domain of the addresses to send from" } as const;
const SELECTOR = {
  name: "selector",
  value: "<name>",
  help: "the selector of a key that your relay signs with; several separated by commas (default: none)",
} as const;

export const senderCheck: Command = {
  name: "sender check",
  operands: [DOMAIN],
  summary: "Look up the SPF, DKIM and DMARC records of a domain",
  description:
    "Asks the name servers (DNS_SERVERS). Looks for the DKIM keys that DKIM_KEYS and --selector name, and for SPF at " +
    "RETURN_PATH_DOMAIN if that is set: give it the settings of the service. " +
    "Exit status 1: something is missing or wrong, or could not be looked up.",
  examples: ["postledger sender check acme.example", "postledger sender check acme.example --selector s1,s2"],
  options: [SELECTOR],
  dataDirectory: "unused",
  async run(invocation) {
    const domain = parseDomain(invocation.operand(DOMAIN.name));
    if (domain === null) throw new UsageError("the domain must be a name such as acme.example");
    const { dkimKeys, dnsServers, returnPathDomain } = invocation.config;
    const selectors = (invocation.option(SELECTOR.name) ?? "").split(",").filter((name) => name !== "");
    if (!selectors.every((name) => /^[a-z0-9][a-z0-9.-]*$/i.test(name))) {
      throw new UsageError("a selector has letters, digits, hyphens and dots");
    }
    const keys = dkimKeysFor(dkimKeys, domain);
    const asked = { domain, envelopeDomain: returnPathDomain ?? domain, keys, selectors };
    const records = await findMailRecords(createDnsResolver(dnsServers), asked);
    const spfRemark =
      returnPathDomain === null
        ? `SPF was looked up for ${domain}, because RETURN_PATH_DOMAIN is not set here`
        : `SPF was looked up for ${returnPathDomain}, the RETURN_PATH_DOMAIN of this call`;
    const isSignedUnseen = keys.length === 0 && selectors.length === 0;
    const remark = isSignedUnseen
      ? ["DKIM was not looked up: DKIM_KEYS has no key for the domain; --selector names one of your relay's"]
      : [];
    invocation.print({ domain, records }, [...records.map(line), spfRemark, ...remark]);
    return records.every(({ status }) => status === "ok") ? 0 : 1;
  },
};

function line({ kind, name, status, detail }: MailRecordFinding): string {
  const word = status === "unknown" ? "not known" : status;
  return `${kind.padEnd(6)} ${word.padEnd(10)} ${name}: ${detail}`;
}
