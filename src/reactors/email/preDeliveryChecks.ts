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
  deps: DeliveryDependencies,
  reads: SharedReads,
  attempt: DeliveryAttempt,
) {
  const [workspace, sender, suppression, content] = await Promise.all([
    reads.workspace(attempt.due.workspaceId),
    unavailableSender(attempt.due, reads.sender),
    readSuppression(deps, attempt),
    readContent(deps, attempt),
  ]);
  return { workspace, mayLeave: sender === null, suppression, content };
}

/** Everything that goes into the message; null when any of it is gone. */
async function readContent(
  deps: DeliveryDependencies,
  { due, history }: DeliveryAttempt,
): Promise<WholeContent | null> {
  const content = await contentOf(deps, due.id, history);
  if (content === null || history.state === null) return null;
  const { attachments = [] } = content;
  const files = await openAttachments(deps.content, folderOf(due.id, history.state), attachments);
  return files === null ? null : { ...content, files };
}

/**
 * The recipient's suppression. If the read model holds the log up to the claim, a recipient missing from it is not
 * suppressed; otherwise the log is read. Test mail skips both.
 */
async function readSuppression(
  deps: DeliveryDependencies,
  { due, claimed }: DeliveryAttempt,
): Promise<SuppressionState> {
  if (claimed.state?.isTest) return null;
  const recipientHash = claimed.state?.recipientHash ?? "";
  const isListCurrent = await deps.suppressions.holds(claimed.position, LIST_WAIT_MS);
  if (isListCurrent && !deps.suppressions.isSuppressed(due.workspaceId, recipientHash)) return null;
  return (await load(deps.store, suppressionAggregate.of(recipientHash))).state;
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
