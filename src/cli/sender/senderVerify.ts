import { createDnsResolver } from "../../adapters/dns/dnsResolver.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { markVerified } from "../../commands/sender/manageSender.ts";
import { readSender } from "../../commands/sender/readSender.ts";
import { domainRecordFault, domainVerification } from "../../commands/sender/verifySenderDomain.ts";
import { senderStatus } from "../../domain/sender/state.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { type DnsResolver, DnsUnavailableError } from "../../ports/dnsResolver.ts";
import { type Command, type Option, refuse, UsageError } from "../program/command.ts";
import { WORKSPACE_OPTION } from "../workspace/workspaceOption.ts";
import { changeSender } from "./changeSender.ts";
import { SENDER_OPERAND, senderNameOf } from "./senderOperand.ts";

const DNS_OPTION: Option = {
  name: "dns",
  value: null,
  help: "look up the TXT record that `sender add` prints for a domain, instead of taking your word",
};

export const senderVerify: Command = {
  name: "sender verify",
  operands: [SENDER_OPERAND],
  summary: "Mark a sender as verified, on your word or by the domain's TXT record",
  options: [WORKSPACE_OPTION, DNS_OPTION],
  examples: [
    "postledger sender verify billing@acme.example --workspace <id>",
    "postledger sender verify acme.example --dns",
  ],
  async run(invocation) {
    const isByDns = invocation.option(DNS_OPTION.name) !== undefined;
    if (isByDns && senderNameOf(invocation).kind === "address")
      throw new UsageError("--dns is for a domain: an address has no record");
    const status = await changeSender(invocation, async (deps, id, context) => {
      const outcome = isByDns
        ? await verifyByDns(deps, createDnsResolver(invocation.config.dnsServers), id, context)
        : await markVerified(deps, id, "operator", context);
      const view = outcome === "notFound" ? null : await readSender(deps, context.workspaceId, id);
      return view === null ? "notFound" : senderStatus(view.sender);
    });
    invocation.print({ outcome: "verified", status }, [
      `${invocation.operand(SENDER_OPERAND.name)} verified`,
      ...(status === "disabled"
        ? ["It is disabled, so it cannot send yet: `sender enable` lets it send"]
        : []),
    ]);
  },
};

/** Verifies the domain if its record is there. Throws {@link CommandFailure} if not. */
async function verifyByDns(
  deps: Dependencies,
  dns: DnsResolver,
  id: string,
  context: WorkspaceCommandContext,
): Promise<"verified" | "notFound"> {
  const view = await readSender(deps, context.workspaceId, id);
  if (view === null) return "notFound";
  const outcome = await domainVerification(deps, dns)(view, context).catch((error: unknown) => {
    if (!(error instanceof DnsUnavailableError)) throw error;
    return refuse(error.message);
  });
  return outcome.kind === "verified" ? "verified" : refuse(domainRecordFault(outcome));
}
