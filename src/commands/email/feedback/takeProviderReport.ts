import type { FeedbackOutcome, FeedbackSource } from "../../../domain/email/feedback/feedbackDecision.ts";
import type { FeedbackReport } from "../../../domain/email/feedback/feedbackReport.ts";
import {
  type ProviderFeedback,
  type SentAs,
  unmatchedSuppression,
} from "../../../domain/email/feedback/providerFeedback.ts";
import type { WorkspaceCommandContext } from "../../../kernel/event/commandContext.ts";
import type { Dependencies } from "../../dependencies.ts";
import { addSuppression } from "../../suppression/addOrRemoveSuppression.ts";
import { readEmailState } from "../readEmail.ts";

export interface ProviderReports {
  readonly source: FeedbackSource;
  /** Records the report; `notFound` if the message is none that the reporter may report on. */
  readonly record: (emailId: string, report: FeedbackReport) => Promise<FeedbackOutcome>;
  /** Our id of the message that the relay took under this name; null if none is known. Absent: nobody looks. */
  readonly findSentAs?: (sentAs: SentAs) => Promise<string | null>;
  /** Called for a report that is about no such message. */
  readonly onUnmatched: (source: FeedbackSource) => void;
  /** Suppresses whom a report about mail that was not sent from here is about. Absent: such mail suppresses nobody. */
  readonly suppressUnmatched?: (feedback: ProviderFeedback) => Promise<void>;
}

/**
 * Takes what a provider's event says: records it on the message, or counts it if it matches none. An event that says
 * nothing about the end of a message changes nothing, and neither does a repeat. Throws `StoreError`.
 */
export async function takeProviderReport(
  reports: ProviderReports,
  feedback: ProviderFeedback,
): Promise<void> {
  const { emailId, report, sentAs } = feedback;
  if (report === null) return;
  const isRecordedOn = async (id: string | null) =>
    id !== null && (await reports.record(id, report)) !== "notFound";
  if (await isRecordedOn(emailId)) return;
  const found = sentAs === undefined ? null : await reports.findSentAs?.(sentAs);
  if (await isRecordedOn(found ?? null)) return;
  reports.onUnmatched(reports.source);
  await reports.suppressUnmatched?.(feedback);
}

/** Suppresses an address that the provider of this name has reported about mail that was not sent from here. */
export async function suppressUnmatched(
  deps: Dependencies,
  provider: string,
  feedback: ProviderFeedback,
  context: WorkspaceCommandContext,
): Promise<void> {
  const found = unmatchedSuppression(feedback);
  if (found === null) return;
  // An event about a message of another workspace is about its mail. Many mail programs give a Message-ID of our form.
  const { emailId } = feedback;
  if (emailId !== null && (await readEmailState(deps.store, emailId)) !== null) return;
  const note = `reported by ${provider} about mail that was not sent from here`;
  await addSuppression(deps, { ...found, note }, context);
}
