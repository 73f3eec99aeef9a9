import { setSender } from "../../commands/sender/manageSender.ts";
import { senderCommand } from "./senderCommand.ts";

export const senderEnable = senderCommand(
  "enable",
  "Let a sender that was disabled send again",
  "enabled",
  (deps, id, context) => setSender(deps, id, "enabled", context),
);
