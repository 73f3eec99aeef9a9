import { pauseWorkspace } from "../../commands/workspace/manageWorkspace.ts";
import { sendingCommand } from "./sendingCommand.ts";

export const workspacePause = sendingCommand(
  "pause",
  "Pause sending: new sends are refused, queued mail waits",
  pauseWorkspace,
);
