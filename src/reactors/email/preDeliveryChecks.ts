import { suppressionAggregate } from "../../commands/aggregateDefinitions.ts";
import { openAttachments } from "../../commands/email/content/storedContent.ts";
import type { WholeContent } from "../../commands/email/mailMessage.ts";
import { contentOf, folderOf } from "../../commands/email/readEmail.ts";
import { load } from "../../commands/transact.ts";
import type { EmailContent } from "../../domain/email/events.ts";
import type { SenderState } from "../../domain/sender/state.ts";
import type { SuppressionState } from "../../domain/suppression/state.ts";
import type { WorkspaceState } from "../../domain/workspace/state.ts";
import type { DeliveryAttempt, DeliveryDependencies } from "./deliveryDependencies.ts";
import { unavailableSender } from "./unavailableSender.ts";

/** Reads of state that many messages share. */
export interface SharedReads {
  readonly workspace: (id: string) => Promise<WorkspaceState>;
  readonly sender: (id: string) => Promise<SenderState>;
}

/** How long to wait for the suppression list before reading the log instead. */
const LIST_WAIT_MS = 200;

/** What the log says after the claim. Only we can deliver from then on, so this is what counts. */
export async function readBeforeDelivery(
  context: DeliveryDependencies,
  reads: SharedReads,
  on: DeliveryAttempt,
) {
  const [workspace, sender, suppression, content] = await Promise.all([
    reads.workspace(on.due.workspaceId),
    unavailableSender(on.due, reads.sender),
    readSuppression(context, on),
    readContent(context, on),
  ]);
  return { workspace, mayLeave: sender === null, suppression, content };
}

/** Everything that goes into the message; null when any of it is gone. */
async function readContent(
  context: DeliveryDependencies,
  { due, history }: DeliveryAttempt,
): Promise<WholeContent | null> {
  const content = await contentOf(context, due.id, history);
  if (content === null || history.state === null) return null;
  const { attachments = [] } = content;
  const files = await openAttachments(context.content, folderOf(due.id, history.state), attachments);
  return files === null ? null : { ...content, files };
}

/**
 * The recipient's suppression. If the read model holds the log up to the claim, a recipient missing from it is not
 * suppressed; otherwise the log is read. Test mail skips both.
 */
async function readSuppression(
  context: DeliveryDependencies,
  { due, claimed }: DeliveryAttempt,
): Promise<SuppressionState> {
  if (claimed.state?.isTest) return null;
  const recipientHash = claimed.state?.recipientHash ?? "";
  const isListCurrent = await context.suppressions.holds(claimed.position, LIST_WAIT_MS);
  if (isListCurrent && !context.suppressions.isSuppressed(due.workspaceId, recipientHash)) return null;
  return (await load(context.store, suppressionAggregate.of(recipientHash))).state;
}

/** Why a claimed message may not go to the relay now; null if it may. */
export function deliveryRefusal(
  workspace: WorkspaceState,
  mayLeave: boolean,
  suppressed: boolean,
  content: EmailContent | null,
) {
  if (workspace === null || workspace.paused) return "sending_paused";
  if (!mayLeave) return "sender_unavailable";
  if (suppressed) return "suppressed";
  return content === null ? "content_unavailable" : null;
}
