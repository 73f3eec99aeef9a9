import { revokeKey } from "../../commands/workspace/manageWorkspace.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import { type Command, notFound } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";

export const apiKeyRevoke: Command = {
  name: "api-key revoke",
  operands: [{ name: "id", help: "id of the key: see `api-key list`" }],
  summary: "Revoke a key: within a second it opens nothing",
  examples: ["postledger api-key revoke <id>"],
  async run(invocation) {
    const id = invocation.operand("id");
    const outcome = await withLog(invocation.config, ({ deps }) =>
      revokeKey(deps, id, systemCommandContext("cli")),
    );
    if (outcome === "notFound") notFound(`there is no key ${id}`);
    invocation.print({ id, revoked: true }, [`${id} revoked`]);
    return 0;
  },
};
