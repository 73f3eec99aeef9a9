import { removeSuppression } from "../../commands/suppression/addOrRemoveSuppression.ts";
import { type Command, notFound } from "../program/command.ts";
import { inWorkspace, WORKSPACE_OPTION } from "../workspace/workspaceOption.ts";
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
    const outcome = await inWorkspace(invocation, (deps, context) =>
      removeSuppression(deps, address, context),
    );
    if (outcome === "notSuppressed") notFound("this address is not suppressed");
    invocation.print({ outcome: "removed" }, ["removed: new mail to it is delivered"]);
    return 0;
  },
};
