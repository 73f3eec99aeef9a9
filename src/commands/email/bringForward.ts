import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import type { Dependencies } from "../dependencies.ts";
import type { EmailView } from "./readEmail.ts";
import { rescheduleEmail } from "./rescheduleEmail.ts";
import { resumeEmail } from "./resumeEmail.ts";

/**
 * Makes a message due now that waits for a time: for its next attempt, or for the time for which it is scheduled. False if
 * it waits for none. Throws `ChangeRateError` if that was done too often.
 */
export async function bringForward(
  deps: Dependencies,
  { id, email: { status, scheduledAt } }: Pick<EmailView, "id" | "email">,
  context: WorkspaceCommandContext,
): Promise<boolean> {
  if (status === "scheduled" && scheduledAt !== null && scheduledAt > context.at)
    return (await rescheduleEmail(deps, id, context.at, context)) === "rescheduled";
  return (await resumeEmail(deps.store, id, context)).outcome === "resumed";
}
