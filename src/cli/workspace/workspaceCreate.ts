import { newWorkspace } from "../../commands/workspace/manageWorkspace.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import type { Command } from "../program/command.ts";
import { nameArgument } from "../program/nameArgument.ts";
import { withLog } from "../program/openStoreForCommand.ts";

export const workspaceCreate: Command = {
  name: "workspace create",
  operands: [{ name: "name", help: "what people call it; in quotes when it has spaces" }],
  summary: "Create a workspace and print its id",
  description: "Creates the data directory if there is none yet.",
  dataDirectory: "made",
  examples: ['postledger workspace create "Acme Ltd"'],
  async run(invocation) {
    const name = nameArgument("the name", invocation.operand("name"));
    const create = () =>
      withLog(invocation.config, ({ deps }) => newWorkspace(deps, name, systemCommandContext("cli")), {
        begins: true,
      });
    const id = await create();
    invocation.print({ id, name }, [id]);
    return 0;
  },
};
