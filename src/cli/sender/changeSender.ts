import type { Dependencies } from "../../commands/dependencies.ts";
import { senderIdOf } from "../../commands/sender/senderId.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { type Invocation, notFound } from "../program/command.ts";
import { inWorkspace } from "../workspace/workspaceOption.ts";
import { senderNameOf } from "./senderOperand.ts";

export type SenderChange = (
  deps: Dependencies,
  id: string,
  context: WorkspaceCommandContext,
) => Promise<string>;

/** Changes the sender that the operand names, and returns the outcome. Ends the command if there is none. */
export async function changeSender(invocation: Invocation, change: SenderChange): Promise<string> {
  const name = senderNameOf(invocation);
  const outcome = await inWorkspace(
    invocation,
    (deps, context) => change(deps, senderIdOf(deps.keys, context.workspaceId, name), context),
    { writes: true },
  );
  if (outcome === "notFound")
    notFound("there is no such sender: `sender list` shows those there are, `sender add` adds one");
  return outcome;
}
