import { pauseWorkspace } from "../../commands/workspace/manageWorkspace.ts";
import { switchSendingCommand } from "./workspaceSending.ts";

export const workspacePause = switchSendingCommand(
  "pause",
  "Pause sending: new sends are refused, queued mail waits",
  pauseWorkspace,
);
