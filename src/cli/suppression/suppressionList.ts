import { listSuppressions } from "../../commands/suppression/listSuppressions.ts";
import type { Suppression } from "../../commands/suppression/readSuppression.ts";
import type { Command } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";
import { WORKSPACE_OPTION, workspaceOf } from "../workspace/workspaceOption.ts";

export const suppressionList: Command = {
  name: "suppression list",
  summary: "List the addresses that get no mail, with the reasons",
  description: "Reads the log from its start. `suppression import` takes what it prints with --json.",
  options: [WORKSPACE_OPTION],
  examples: ["postledger suppression list", "postledger suppression list --json > suppressions.json"],
  async run(invocation) {
    const suppressions = await withLog(invocation.config, async ({ deps: { store } }) =>
      listSuppressions(store, await workspaceOf(store, invocation)),
    );
    invocation.print(suppressions.map(suppressionJson), suppressions.map(suppressionLine));
    return 0;
  },
};

function suppressionJson({ id, address, reason, note, emailId, createdAt }: Suppression) {
  return { id, address, reason, note, email_id: emailId, created_at: createdAt };
}

function suppressionLine({ address, reason, note, createdAt }: Suppression): string {
  const why = note === null ? "" : `  "${note}"`;
  return `${createdAt}  ${reason.padEnd("complaint".length)}  ${address ?? "(address erased)"}${why}`;
}
