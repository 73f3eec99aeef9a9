import type { Dependencies } from "../../commands/dependencies.ts";
import { pauseWorkspace, resumeWorkspace } from "../../commands/workspace/manageWorkspace.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { type Command, notFound } from "../program/command.ts";
import { changeLog } from "../program/openStoreForCommand.ts";
import { WORKSPACE_OPERAND, workspaceOfOperand } from "./workspaceOption.ts";

type Change = (deps: Dependencies, id: string, context: CommandContext) => Promise<string>;

/** A command that turns a workspace's sending on or off. */
function switchSendingCommand(verb: string, summary: string, change: Change): Command {
  return {
    name: `workspace ${verb}`,
    operands: [WORKSPACE_OPERAND],
    summary,
    examples: [`postledger workspace ${verb}`, `postledger workspace ${verb} <id>`],
    async run(invocation) {
      const { id, outcome } = await changeLog(invocation.config, async (deps, context) => {
        const id = await workspaceOfOperand(deps.store, invocation);
        return { id, outcome: await change(deps, id, context) };
      });
      if (outcome === "notFound") notFound(`there is no workspace ${id}`);
      invocation.print({ id, outcome }, [`${id} ${outcome}`]);
    },
  };
}

export const workspacePause = switchSendingCommand(
  "pause",
  "Pause sending: new sends are refused, queued mail waits",
  pauseWorkspace,
);

export const workspaceResume = switchSendingCommand(
  "resume",
  "Let a paused workspace send again",
  resumeWorkspace,
);
