import { senderAggregate } from "../../commands/aggregateDefinitions.ts";
import { type Sender, senderStatus } from "../../domain/sender/state.ts";
import type { Command } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";
import { loadOfWorkspace, WORKSPACE_OPTION } from "../workspace/workspaceOption.ts";

function listed(id: string, sender: Sender) {
  const { kind, name, displayName, verifiedBy } = sender;
  return { id, kind, name, display_name: displayName, status: senderStatus(sender), verified_by: verifiedBy };
}

function senderLine({ status, name, display_name: displayName }: ReturnType<typeof listed>): string {
  return `${status.padEnd("unverified".length)}  ${name}${displayName === null ? "" : `  "${displayName}"`}`;
}

export const senderList: Command = {
  name: "sender list",
  summary: "List the addresses and domains that a workspace sends from",
  description: "Reads the log from its start.",
  examples: ["postledger sender list --workspace <id>"],
  options: [WORKSPACE_OPTION],
  async run(invocation) {
    const senders = await withLog(invocation.config, ({ deps }) =>
      loadOfWorkspace(deps.store, invocation, senderAggregate),
    );
    const rows = senders.map(([id, sender]) => listed(id, sender));
    invocation.print(rows, rows.map(senderLine));
  },
};
