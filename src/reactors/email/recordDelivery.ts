import { type MailRecording, recordMailAttempt } from "../../commands/email/mailAttempts.ts";
import { suppressRecipient } from "../../commands/suppression/suppressRecipient.ts";
import type { AttemptResult } from "../../domain/email/delivery/classifyMailOutcome.ts";
import {
  encryptRelayReply,
  type RecordedAttemptResult,
} from "../../domain/email/delivery/encryptRelayReply.ts";
import { redactRelayReply } from "../../domain/email/delivery/redactRelayReply.ts";
import type { EmailContent } from "../../domain/email/events.ts";
import type { SuppressionState } from "../../domain/suppression/state.ts";
import type { WorkspaceState } from "../../domain/workspace/state.ts";
import { invariant } from "../../kernel/assert.ts";
import { omitUndefined } from "../../kernel/omitUndefined.ts";
import { domainOf } from "../../kernel/text/emailAddress.ts";
import { retryUntilRecorded } from "../worker/retryUntilRecorded.ts";
import { workerCommandContext } from "../worker/workerCommandContext.ts";
import { type DeliveryAttempt, type DeliveryDependencies, recordingOf } from "./deliveryDependencies.ts";

/** The bounce that led to the message's own suppression, as a result. */
export function earlierBounce(suppression: NonNullable<SuppressionState>): RecordedAttemptResult {
  const { bounceReason = "recipient_address_rejected", code = 550, enhancedCode, sealedReply } = suppression;
  return {
    kind: "bounced",
    reason: bounceReason,
    code,
    suppress: true,
    ...omitUndefined({ enhancedCode, sealedReply }),
  };
}

/** The result to record. The reply is encrypted with the salt that is erased together with the content. */
export function recordedResultOf(
  { keys }: DeliveryDependencies,
  { history }: DeliveryAttempt,
  result: AttemptResult,
  content: EmailContent,
): RecordedAttemptResult {
  const first = history.events[0]?.event;
  invariant(first?.type === "EmailContentStored", "a message with content begins with it");
  const { salt } = first.data;
  const encrypt = (reply: string) => keys.encryptWithSalt(salt, redactRelayReply(reply, content));
  return encryptRelayReply(result, encrypt, [content.from, content.to, content.replyTo ?? ""]);
}

/** Adds the recipient's domain to a bounce, if it is to be kept and the content still shows it. */
export function withRecipientDomain(
  { bounceDomains }: DeliveryDependencies,
  result: RecordedAttemptResult,
  content: EmailContent | null,
): RecordedAttemptResult {
  if (result.kind !== "bounced" || !bounceDomains || content === null) return result;
  return { ...result, recipientDomain: domainOf(content.to) };
}

export interface AttemptOutcome {
  readonly workspace: WorkspaceState;
  readonly content: EmailContent;
  readonly result: RecordedAttemptResult;
}

/** Records the outcome of an attempt, after suppressing the recipient if it gets no more mail. */
export async function recordResult(
  deps: DeliveryDependencies,
  attempt: DeliveryAttempt,
  { workspace, content, result }: AttemptOutcome,
) {
  if (result.kind === "bounced" && result.suppress) {
    // Suppress first: after a crash in between, the next attempt finds the suppression and sends nothing.
    const { reason, code, enhancedCode, sealedReply } = result;
    const recipientHash = attempt.claimed.state?.recipientHash ?? "";
    const bounced = {
      workspaceId: attempt.due.workspaceId,
      recipientHash,
      address: content.to,
      emailId: attempt.due.id,
      reason: "bounce" as const,
      bounceReason: reason,
      ...omitUndefined({ code, enhancedCode, sealedReply }),
    };
    await retryUntilRecorded(deps, attempt.due.id, () =>
      suppressRecipient(deps.store, bounced, workerCommandContext(deps, attempt.due.workspaceId)),
    );
  }
  await untilRecorded(deps, attempt, workspace, (recording) =>
    recordMailAttempt(deps.store, attempt.claimed, result, recording),
  );
}

/**
 * Records what became of an attempt, again and again until the log has it or the process ends. `record` is given what that
 * is decided with at the moment.
 */
export function untilRecorded(
  deps: DeliveryDependencies,
  { due, history }: DeliveryAttempt,
  workspace: WorkspaceState,
  record: (recording: MailRecording) => Promise<void>,
): Promise<void> {
  const { id, workspaceId } = due;
  return retryUntilRecorded(deps, id, () =>
    record(recordingOf(deps, { workspaceId, state: history.state, workspace })),
  );
}
