import { workspaceAggregate } from "../../commands/aggregateDefinitions.ts";
import { loadAllOfKind } from "../../commands/loadAllOfKind.ts";
import { newWorkspace } from "../../commands/workspace/manageWorkspace.ts";
import { workspaceNameFault } from "../../domain/workspace/workspaceNameFault.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import type { Command } from "../program/command.ts";
import { displayNameArgument } from "../program/displayNameArgument.ts";
import { withLog } from "../program/openStoreForCommand.ts";

export const workspaceCreate: Command = {
  name: "workspace create",
  operands: [{ name: "name", help: "what people call it; in quotes when it has spaces" }],
  summary: "Create a workspace and print its id",
  description: "Creates the data directory if there is none yet.",
  dataDirectory: "made",
  examples: ['postledger workspace create "Acme Ltd"'],
  async run(invocation) {
    const name = displayNameArgument("the name", invocation.operand("name"), workspaceNameFault);
    const id = await withLog(
      invocation.config,
      ({ deps }) => newWorkspace(deps, name, systemCommandContext("cli")),
      { begins: true, writes: true },
    );
    invocation.print({ id, name }, [id]);
  },
};

export const workspaceList: Command = {
  name: "workspace list",
  summary: "List the workspaces with their ids",
  description: "Reads the log from its start.",
  examples: ["postledger workspace list"],
  async run(invocation) {
    const workspaces = await withLog(invocation.config, ({ deps }) =>
      loadAllOfKind(deps.store, workspaceAggregate),
    );
    const rows = [...workspaces].map(([id, { name, paused }]) => ({ id, name, paused }));
    const lines = rows.map(({ id, name, paused }) => `${id}  ${paused ? "paused" : "active"}  ${name}`);
    invocation.print(rows, lines);
  },
};
