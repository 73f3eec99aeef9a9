import { switchExistingSender } from "../../commands/sender/manageSender.ts";
import { changeSenderCommand } from "./senderChanges.ts";

export const senderEnable = changeSenderCommand(
  "enable",
  "Let a sender that was disabled send again",
  "enabled",
  (deps, id, context) => switchExistingSender(deps, id, "enabled", context),
);
