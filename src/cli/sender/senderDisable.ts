import { switchExistingSender } from "../../commands/sender/manageSender.ts";
import { changeSenderCommand } from "./senderChanges.ts";

export const senderDisable = changeSenderCommand(
  "disable",
  "Let a sender send no more; its mail waits",
  "disabled",
  (deps, id, context) => switchExistingSender(deps, id, "disabled", context),
);
