import { markVerified } from "../../commands/sender/manageSender.ts";
import { changeSenderCommand } from "./senderChanges.ts";

export const senderVerify = changeSenderCommand(
  "verify",
  "Mark a sender as verified, on your word",
  "verified",
  (deps, id, context) => markVerified(deps, id, "operator", context),
);
