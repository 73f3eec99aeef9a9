import { answersOk, operationsOf } from "../server/operation.ts";
import { Workspace } from "./workspaceResource.ts";

export const workspaceOperations = operationsOf("Workspace", {
  getWorkspace: {
    summary: "Read the key's workspace",
    description: "Its state, its limits and what is used of them.",
    ...answersOk(Workspace),
  },
  pauseSending: {
    summary: "Pause sending",
    description:
      "New sends get SENDING_PAUSED, what is queued waits, and the time does not count against it. At once here, " +
      "within a second on other instances. A repeat changes nothing.",
    ...answersOk(Workspace),
  },
  resumeSending: {
    summary: "Resume sending",
    description: "What waited goes on. A repeat changes nothing.",
    ...answersOk(Workspace),
  },
});
