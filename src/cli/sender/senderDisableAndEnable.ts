import type { Dependencies } from "../../commands/dependencies.ts";
import { switchExistingSender } from "../../commands/sender/manageSender.ts";
import { senderIdOf } from "../../commands/sender/senderId.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { type Command, type Invocation, notFound } from "../program/command.ts";
import { inWorkspace, WORKSPACE_OPTION } from "../workspace/workspaceOption.ts";
import { SENDER_OPERAND, senderNameOf } from "./senderOperand.ts";

type SenderChange = (deps: Dependencies, id: string, context: WorkspaceCommandContext) => Promise<string>;

/** Changes the sender that the operand names, and returns the outcome. Ends the command if there is none. */
export async function changeSender(invocation: Invocation, change: SenderChange): Promise<string> {
  const name = senderNameOf(invocation);
  const outcome = await inWorkspace(invocation, (deps, context) =>
    change(deps, senderIdOf(deps.keys, context.workspaceId, name), context),
  );
  if (outcome === "notFound")
    notFound("there is no such sender: `sender list` shows those there are, `sender add` adds one");
  return outcome;
}

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
