import { setSender } from "../../commands/sender/manageSender.ts";
import { senderCommand } from "./senderCommand.ts";

export const senderDisable = senderCommand(
  "disable",
  "Let a sender send no more; its mail waits",
  "disabled",
  (deps, id, context) => setSender(deps, id, "disabled", context),
);
