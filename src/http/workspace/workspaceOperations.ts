import { answersOk, type Operations } from "../server/operation.ts";
import { Workspace } from "./workspaceResource.ts";

const tag = "Workspace";

export const workspaceOperations = {
  getWorkspace: {
    summary: "Read the key's workspace",
    description: "Its state, its limits and what is used of them.",
    tag,
    ...answersOk(Workspace),
  },
  pauseSending: {
    summary: "Pause sending",
    description:
      "New sends get SENDING_PAUSED, what is queued waits, and the time does not count against it. At once here, " +
      "within a second on other instances. A repeat changes nothing.",
    tag,
    ...answersOk(Workspace),
  },
  resumeSending: {
    summary: "Resume sending",
    description: "What waited goes on. A repeat changes nothing.",
    tag,
    ...answersOk(Workspace),
  },
} satisfies Operations;
