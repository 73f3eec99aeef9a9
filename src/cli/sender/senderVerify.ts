import { markVerified } from "../../commands/sender/manageSender.ts";
import { senderCommand } from "./senderCommand.ts";

export const senderVerify = senderCommand(
  "verify",
  "Mark a sender as verified, on your word",
  "verified",
  (deps, id, context) => markVerified(deps, id, "operator", context),
);
