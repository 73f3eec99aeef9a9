import { renameExistingSender } from "../../commands/sender/manageSender.ts";
import { type Command, type Option, UsageError } from "../program/command.ts";
import { displayNameArgument } from "../program/displayNameArgument.ts";
import { WORKSPACE_OPTION } from "../workspace/workspaceOption.ts";
import { changeSender } from "./changeSender.ts";
import { SENDER_OPERAND } from "./senderOperand.ts";

export const NAME_OPTION: Option = {
  name: "name",
  value: "<text>",
  help: "display name, shown with the address in From (default: none)",
};

const REMOVE_NAME_OPTION: Option = { name: "remove-name", value: null, help: "remove the display name" };

export const senderRename: Command = {
  name: "sender rename",
  operands: [SENDER_OPERAND],
  summary: "Give an address or a domain another display name",
  options: [WORKSPACE_OPTION, NAME_OPTION, REMOVE_NAME_OPTION],
  examples: [
    "postledger sender rename billing@acme.example --name Acme",
    "postledger sender rename billing@acme.example --remove-name",
  ],
  async run(invocation) {
    const text = invocation.option(NAME_OPTION.name);
    const isRemoved = invocation.option(REMOVE_NAME_OPTION.name) !== undefined;
    if ((text === undefined) !== isRemoved) throw new UsageError("give either --name or --remove-name");
    const displayName = text === undefined ? null : displayNameArgument("the display name", text);
    const outcome = await changeSender(invocation, (deps, id, context) =>
      renameExistingSender(deps, id, displayName, context),
    );
    invocation.print({ outcome, display_name: displayName }, [
      `${invocation.operand(SENDER_OPERAND.name)} ${outcome}`,
    ]);
  },
};
