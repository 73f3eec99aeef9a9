import { renameKey } from "../../commands/apiKey/renameApiKey.ts";
import type { Command } from "../program/command.ts";
import { displayNameArgument } from "../program/displayNameArgument.ts";
import { changeLog } from "../program/openStoreForCommand.ts";
import { unknownKey } from "./unknownKey.ts";

export const apiKeyRename: Command = {
  name: "api-key rename",
  operands: [
    { name: "id", help: "id of the key: see `api-key list`" },
    { name: "name", help: "its new name; in quotes when it has spaces" },
  ],
  summary: "Give a key another name",
  description: "The key itself, and what it may do, stay as they are.",
  examples: ['postledger api-key rename <id> "Shop, production"'],
  async run(invocation) {
    const id = invocation.operand("id");
    const name = displayNameArgument("the name", invocation.operand("name"));
    const outcome = await changeLog(invocation.config, (deps, context) => renameKey(deps, id, name, context));
    if (outcome === "notFound") unknownKey(id);
    invocation.print({ id, name, outcome }, [`${id} ${outcome}`]);
  },
};
