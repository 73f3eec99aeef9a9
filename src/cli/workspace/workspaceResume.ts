import { resumeWorkspace } from "../../commands/workspace/manageWorkspace.ts";
import { sendingCommand } from "./sendingCommand.ts";

export const workspaceResume = sendingCommand("resume", "Let a paused workspace send again", resumeWorkspace);
