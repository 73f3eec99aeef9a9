import type { Dependencies } from "../../commands/dependencies.ts";
import { bringForward } from "../../commands/email/bringForward.ts";
import { readEmailState } from "../../commands/email/readEmail.ts";
import { type Email, isTerminal } from "../../domain/email/state.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { type Command, notFound, refuse } from "../program/command.ts";
import { changeLog } from "../program/openStoreForCommand.ts";
import { EMAIL_OPERAND, emailIdOperand } from "./emailIdOperand.ts";

interface Tried {
  readonly email: Email;
  /** Whether it waited for a time, and is due now. */
  readonly isBroughtForward: boolean;
}

/** Makes a message due now, whatever workspace it is of; null if there is none. */
async function tryNow(deps: Dependencies, id: string, context: CommandContext): Promise<Tried | null> {
  const email = await readEmailState(deps.store, id);
  if (email === null) return null;
  const { workspaceId } = email;
  return { email, isBroughtForward: await bringForward(deps, { id, email }, { ...context, workspaceId }) };
}

function linesOf(id: string, { email, isBroughtForward }: Tried): readonly string[] {
  const state = email.status === "sending" ? "being delivered" : `${email.status} and due already`;
  if (!isBroughtForward) return [`${id} is ${state}: nothing was changed`];
  return [
    `${id} is due now`,
    ...(email.ambiguous ? ["the relay may have it: it may be delivered twice"] : []),
  ];
}

export const emailTryNow: Command = {
  name: "email try-now",
  operands: [EMAIL_OPERAND],
  summary: "Deliver a waiting message now",
  description:
    "Ends the wait of a deferred message for its next attempt, and of a scheduled one for its time. A running service delivers it next. `delivery resume` does the same with all deferred messages.",
  examples: ["postledger email try-now <id>"],
  async run({ config, operand, print }) {
    const id = emailIdOperand(operand("id"));
    const tried = await changeLog(config, (deps, context) => tryNow(deps, id, context));
    if (tried === null) notFound(`there is no message ${id}`);
    const { email, isBroughtForward } = tried;
    if (!isBroughtForward && isTerminal(email.status))
      refuse(`message ${id} can no longer be tried: it is ${email.status}`);
    const { workspaceId: workspace_id, status, ambiguous } = email;
    const may_repeat = isBroughtForward && ambiguous;
    print({ id, workspace_id, status, brought_forward: isBroughtForward, may_repeat }, linesOf(id, tried));
  },
};
