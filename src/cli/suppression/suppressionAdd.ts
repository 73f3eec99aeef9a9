import { addSuppression } from "../../commands/suppression/addOrRemoveSuppression.ts";
import type { Command } from "../program/command.ts";
import { inWorkspace, WORKSPACE_OPTION } from "../workspace/workspaceOption.ts";
import { ADDRESS_OPERAND, addressOf } from "./addressOperand.ts";
import { NOTE_OPTION, noteOf } from "./suppressionArguments.ts";

export const suppressionAdd: Command = {
  name: "suppression add",
  operands: [ADDRESS_OPERAND],
  summary: "Suppress an address: it gets no more mail",
  description: "Where it is suppressed already, its first reason and note stay.",
  options: [WORKSPACE_OPTION, NOTE_OPTION],
  examples: ["postledger suppression add ana@example.com --note 'asked us to stop'"],
  async run(invocation) {
    const address = addressOf(invocation);
    const note = noteOf(invocation);
    const { isNew } = await inWorkspace(invocation, (deps, context) =>
      addSuppression(deps, { address, note }, context),
    );
    invocation.print({ outcome: isNew ? "added" : "already_suppressed" }, [
      isNew ? "suppressed" : "was suppressed already",
    ]);
    return 0;
  },
};
