import { renameExistingWorkspace } from "../../commands/workspace/manageWorkspace.ts";
import { workspaceNameFault } from "../../domain/workspace/workspaceNameFault.ts";
import type { Command } from "../program/command.ts";
import { displayNameArgument } from "../program/displayNameArgument.ts";
import { changeLog } from "../program/openStoreForCommand.ts";
import { existingWorkspace } from "./workspaceOption.ts";

export const workspaceRename: Command = {
  name: "workspace rename",
  operands: [
    { name: "id", help: "id or present name of the workspace: see `workspace list`" },
    { name: "name", help: "its new name; in quotes when it has spaces" },
  ],
  summary: "Give a workspace another name",
  description: "Its id stays, and with it everything that belongs to it.",
  examples: ['postledger workspace rename <id> "Acme Ltd"'],
  async run(invocation) {
    const name = displayNameArgument("the name", invocation.operand("name"), workspaceNameFault);
    const { id, outcome } = await changeLog(invocation.config, async (deps, context) => {
      const id = await existingWorkspace(deps.store, invocation.operand("id"));
      return { id, outcome: await renameExistingWorkspace(deps, id, name, context) };
    });
    invocation.print({ id, name, outcome }, [`${id} ${outcome}`]);
  },
};
