import { noteRecord } from "../../domain/sender/decisions.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import type { DnsResolver } from "../../ports/dnsResolver.ts";
import type { Dependencies } from "../dependencies.ts";
import { domainRecordOf, lookUpRecord } from "./domainRecord.ts";
import { transactSender } from "./manageSender.ts";

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
  const published = await lookUpRecord(dns, domainRecordOf(deps.keys, workspaceId, name));
  // A failing zone says nothing about the record.
  if (published === "failing") return { outcome: "unchanged", workspaceId };
  const { isThere } = published;
  const of = { ...context, workspaceId };
  const outcome = await transactSender(deps, id, (state) => noteRecord(state, isThere, context.at), of);
  return { outcome, workspaceId };
}
