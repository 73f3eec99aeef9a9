import { addSuppression } from "../../commands/suppression/addOrRemoveSuppression.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import type { Command } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";
import { WORKSPACE_OPTION, workspaceOf } from "../workspace/workspaceOption.ts";
import { ADDRESS_OPERAND, addressOf } from "./addressOperand.ts";
import { NOTE_OPTION, noteOf } from "./suppressionNote.ts";

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
    const { isNew } = await withLog(invocation.config, async ({ deps }) => {
      const workspaceId = await workspaceOf(deps.store, invocation);
      const context = { ...systemCommandContext("cli"), workspaceId };
      return addSuppression(deps, { workspaceId, address, note }, context);
    });
    invocation.print({ outcome: isNew ? "added" : "already_suppressed" }, [
      isNew ? "suppressed" : "was suppressed already",
    ]);
    return 0;
  },
};
