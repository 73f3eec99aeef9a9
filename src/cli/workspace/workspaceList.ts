import { workspaceAggregate } from "../../commands/aggregateDefinitions.ts";
import type { Command } from "../program/command.ts";
import { aggregatesInLog } from "../program/loadAllAggregates.ts";
import { withLog } from "../program/openStoreForCommand.ts";

export const workspaceList: Command = {
  name: "workspace list",
  summary: "List the workspaces with their ids",
  description: "Reads the log from its start.",
  examples: ["postledger workspace list"],
  async run(invocation) {
    const workspaces = await withLog(invocation.config, ({ deps }) =>
      aggregatesInLog(deps.store, workspaceAggregate),
    );
    const rows = [...workspaces].map(([id, { name, paused }]) => ({ id, name, paused }));
    const lines = rows.map(({ id, name, paused }) => `${id}  ${paused ? "paused" : "active"}  ${name}`);
    invocation.print(rows, lines);
    return 0;
  },
};
