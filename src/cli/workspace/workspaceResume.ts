import { resumeWorkspace } from "../../commands/workspace/manageWorkspace.ts";
import { switchSendingCommand } from "./workspaceSending.ts";

export const workspaceResume = switchSendingCommand(
  "resume",
  "Let a paused workspace send again",
  resumeWorkspace,
);
