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

/** Whom to suppress, and why. */
type UnmatchedSuppression = NonNullable<ReturnType<typeof unmatchedSuppression>>;

/** How a provider's reports are taken. */
export interface ProviderReports {
  readonly source: FeedbackSource;
  /** Records the report; `notFound` if the message is none that the reporter may report on. */
  readonly record: (emailId: string, report: FeedbackReport) => Promise<FeedbackOutcome>;
  /** Our id of the message that the relay took under this name; null if none is known. Absent: nobody looks. */
  readonly findSentAs?: (sentAs: SentAs) => Promise<string | null>;
  /** Called for a report that is about no such message. */
  readonly onUnmatched: (source: FeedbackSource) => void;
  /** Suppresses an address because of mail that was not sent from here. Absent: such mail suppresses nobody. */
  readonly suppressUnmatched?: (found: UnmatchedSuppression) => Promise<unknown>;
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
  // An event that names a message of another workspace is about its mail.
  const suppression = emailId === null ? unmatchedSuppression(feedback) : null;
  if (suppression !== null) await reports.suppressUnmatched?.(suppression);
}

/** Suppresses an address that the provider of this name has reported about mail that was not sent from here. */
export function suppressUnmatched(
  deps: Dependencies,
  provider: string,
  found: UnmatchedSuppression,
  context: WorkspaceCommandContext,
) {
  const note = `reported by ${provider} about mail that was not sent from here`;
  return addSuppression(deps, { ...found, note }, context);
}
