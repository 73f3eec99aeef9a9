import { newWorkspace } from "../../commands/workspace/manageWorkspace.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import type { Command } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";
import { shownNameOf } from "../program/shownName.ts";

export const workspaceCreate: Command = {
  name: "workspace create",
  operands: [{ name: "name", help: "what people call it; in quotes when it has spaces" }],
  summary: "Create a workspace and print its id",
  description: "Where there is no data directory yet, it makes one.",
  dataDirectory: "made",
  examples: ['postledger workspace create "Acme Ltd"'],
  async run(invocation) {
    const name = shownNameOf("the name", invocation.operand("name"));
    const create = () =>
      withLog(invocation.config, ({ deps }) => newWorkspace(deps, name, systemCommandContext("cli")), {
        begins: true,
      });
    const id = await create();
    invocation.print({ id, name }, [id]);
    return 0;
  },
};
