import { suppressionAggregate } from "../../commands/aggregateDefinitions.ts";
import { openAttachments } from "../../commands/email/content/storedContent.ts";
import type { WholeContent } from "../../commands/email/mailMessage.ts";
import { contentOf, folderOf } from "../../commands/email/readEmail.ts";
import { load } from "../../commands/transact.ts";
import type { EmailContent } from "../../domain/email/events.ts";
import { authorityOf, type SenderState } from "../../domain/sender/state.ts";
import type { SuppressionState } from "../../domain/suppression/state.ts";
import type { WorkspaceState } from "../../domain/workspace/state.ts";
import type { DeliveryAttempt, DeliveryContext } from "./deliveryContext.ts";

/** Reads of what many messages have in common. */
export interface SharedReads {
  readonly workspace: (id: string) => Promise<WorkspaceState>;
  readonly sender: (id: string) => Promise<SenderState>;
}

/** How long to wait for the list of suppressions before the log is read instead. */
const LIST_WAIT_MS = 200;

/** What the log says after the claim: nobody else delivers from then on, so this is what counts. */
export async function readBeforeDelivery(context: DeliveryContext, reads: SharedReads, on: DeliveryAttempt) {
  const { workspaceId, senderId, authorityId } = on.due;
  const [workspace, sender, domain, suppression, content] = await Promise.all([
    reads.workspace(workspaceId),
    reads.sender(senderId),
    authorityId === senderId ? null : reads.sender(authorityId),
    readSuppression(context, on),
    readContent(context, on),
  ]);
  return { workspace, mayLeave: authorityOf(sender, domain) !== null, suppression, content };
}

/** Everything that goes into the message; null when any of it is gone. */
async function readContent(
  context: DeliveryContext,
  { due, history }: DeliveryAttempt,
): Promise<WholeContent | null> {
  const content = await contentOf(context, due.id, history);
  if (content === null || history.state === null) return null;
  const { attachments = [] } = content;
  const files = await openAttachments(context.content, folderOf(due.id, history.state), attachments);
  return files === null ? null : { ...content, files };
}

/**
 * The recipient's suppression. Nobody who is missing from the read model is suppressed, if that holds the log up to the
 * claim; else the log is read. Test mail looks at neither.
 */
async function readSuppression(
  context: DeliveryContext,
  { due, claimed }: DeliveryAttempt,
): Promise<SuppressionState> {
  if (claimed.state?.isTest) return null;
  const recipientHash = claimed.state?.recipientHash ?? "";
  const isListCurrent = await context.suppressions.holds(claimed.position, LIST_WAIT_MS);
  if (isListCurrent && !context.suppressions.isSuppressed(due.workspaceId, recipientHash)) return null;
  return (await load(context.store, suppressionAggregate.of(recipientHash))).state;
}

/** Why a claimed message is not handed to the relay now; null when nothing is in the way. */
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
