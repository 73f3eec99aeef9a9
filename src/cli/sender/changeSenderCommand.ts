import type { Dependencies } from "../../commands/dependencies.ts";
import { type SenderName, senderIdOf } from "../../commands/sender/senderId.ts";
import type { CommandContext } from "../../kernel/event/eventMetadata.ts";
import { parseAddress, parseDomain } from "../../kernel/text/emailAddress.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import { type Command, type Invocation, notFound, type Operand, UsageError } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";
import { WORKSPACE_OPTION, workspaceOf } from "../workspace/workspaceOption.ts";

export const SENDER_OPERAND: Operand = {
  name: "address-or-domain",
  help: "billing@acme.example for one address, acme.example for every address at the domain",
};

export function senderNameOf({ operand }: Invocation): SenderName {
  const text = operand(SENDER_OPERAND.name);
  const domain = text.includes("@") ? null : parseDomain(text);
  if (domain !== null) return { kind: "domain", domain };
  const address = parseAddress(text);
  if ("invalid" in address)
    throw new UsageError(
      text.includes("@")
        ? `the address ${text} ${address.invalid}`
        : `${text} is no address and no domain such as acme.example`,
    );
  return { kind: "address", address };
}

type SenderChange = (deps: Dependencies, id: string, context: CommandContext) => Promise<string>;

/** A command that changes a sender that is there. */
export function changeSenderCommand(
  verb: string,
  summary: string,
  done: string,
  change: SenderChange,
): Command {
  return {
    name: `sender ${verb}`,
    operands: [SENDER_OPERAND],
    summary,
    options: [WORKSPACE_OPTION],
    examples: [`postledger sender ${verb} billing@acme.example --workspace <id>`],
    async run(invocation) {
      const name = senderNameOf(invocation);
      const outcome = await withLog(invocation.config, async ({ deps }) => {
        const workspaceId = await workspaceOf(deps.store, invocation);
        const context = { ...systemCommandContext("cli"), workspaceId };
        return change(deps, senderIdOf(deps.keys, workspaceId, name), context);
      });
      if (outcome === "notFound") notFound("there is no such sender; add it first");
      invocation.print({ outcome: done }, [done]);
      return 0;
    },
  };
}
