import { switchExistingSender } from "../../commands/sender/manageSender.ts";
import type { Command } from "../program/command.ts";
import { WORKSPACE_OPTION } from "../workspace/workspaceOption.ts";
import { changeSender, type SenderChange } from "./changeSender.ts";
import { SENDER_OPERAND } from "./senderOperand.ts";

/** A command that changes an existing sender. */
function changeSenderCommand(verb: string, summary: string, done: string, change: SenderChange): Command {
  return {
    name: `sender ${verb}`,
    operands: [SENDER_OPERAND],
    summary,
    options: [WORKSPACE_OPTION],
    examples: [`postledger sender ${verb} billing@acme.example --workspace <id>`],
    async run(invocation) {
      await changeSender(invocation, change);
      invocation.print({ outcome: done }, [`${invocation.operand(SENDER_OPERAND.name)} ${done}`]);
    },
  };
}

export const senderDisable = changeSenderCommand(
  "disable",
  "Stop a sender from sending; its mail waits",
  "disabled",
  (deps, id, context) => switchExistingSender(deps, id, "disabled", context),
);

export const senderEnable = changeSenderCommand(
  "enable",
  "Let a sender that was disabled send again",
  "enabled",
  (deps, id, context) => switchExistingSender(deps, id, "enabled", context),
);
