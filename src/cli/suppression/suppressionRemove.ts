import { removeSuppression } from "../../commands/suppression/addOrRemoveSuppression.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import { type Command, notFound } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";
import { WORKSPACE_OPTION, workspaceOf } from "../workspace/workspaceOption.ts";
import { ADDRESS_OPERAND, addressOf } from "./addressOperand.ts";

export const suppressionRemove: Command = {
  name: "suppression remove",
  operands: [ADDRESS_OPERAND],
  summary: "Let mail to an address go again",
  description: "What was suppressed stays so: only new mail is delivered.",
  options: [WORKSPACE_OPTION],
  examples: ["postledger suppression remove ana@example.com"],
  async run(invocation) {
    const address = addressOf(invocation);
    const outcome = await withLog(invocation.config, async ({ deps }) => {
      const workspaceId = await workspaceOf(deps.store, invocation);
      const context = { ...systemCommandContext("cli"), workspaceId };
      return removeSuppression(deps, workspaceId, address, context);
    });
    if (outcome === "notSuppressed") notFound("this address is not suppressed");
    invocation.print({ outcome: "removed" }, ["removed: new mail to it is delivered"]);
    return 0;
  },
};
