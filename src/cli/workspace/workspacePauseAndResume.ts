import type { Dependencies } from "../../commands/dependencies.ts";
import { pauseWorkspace, resumeWorkspace } from "../../commands/workspace/manageWorkspace.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import { type Command, notFound, type Operand } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";

const WORKSPACE_ID: Operand = { name: "id", help: "id of the workspace: see `workspace list`" };

type Change = (deps: Dependencies, id: string, context: CommandContext) => Promise<string>;

/** A command that turns a workspace's sending on or off. */
function switchSendingCommand(verb: string, summary: string, change: Change): Command {
  return {
    name: `workspace ${verb}`,
    operands: [WORKSPACE_ID],
    summary,
    examples: [`postledger workspace ${verb} <id>`],
    async run(invocation) {
      const id = invocation.operand(WORKSPACE_ID.name);
      const outcome = await withLog(invocation.config, ({ deps }) =>
        change(deps, id, systemCommandContext("cli")),
      );
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
