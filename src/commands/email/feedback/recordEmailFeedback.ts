import { redactRelayReply } from "../../../domain/email/delivery/redactRelayReply.ts";
import { asTransient } from "../../../domain/email/feedback/bounceReason.ts";
import {
  type Feedback,
  type FeedbackOutcome,
  type FeedbackSource,
  recordFeedback,
} from "../../../domain/email/feedback/feedbackDecision.ts";
import type { FeedbackReport } from "../../../domain/email/feedback/feedbackReport.ts";
import { isAnotherAddress } from "../../../domain/email/feedback/isAnotherAddress.ts";
import { reasonToSuppress } from "../../../domain/email/feedback/suppressionRule.ts";
import type { Email } from "../../../domain/email/state.ts";
import type { InstanceKeys } from "../../../kernel/crypto/instanceKeys.ts";
import { omitUndefined } from "../../../kernel/omitUndefined.ts";
import { domainOf, parseAddress } from "../../../kernel/text/emailAddress.ts";
import type { EpochMs } from "../../../kernel/time.ts";
import type { ContentStore } from "../../../ports/contentStore.ts";
import type { EventStore } from "../../../ports/eventStore.ts";
import { emailAggregate } from "../../aggregateDefinitions.ts";
import { suppressRecipient } from "../../suppression/suppressRecipient.ts";
import { transact } from "../../transact.ts";
import { contentSaltOf, type EmailHistory, readEmailHistory } from "../emailHistory.ts";
import { contentOf } from "../readEmail.ts";

export interface FeedbackContext {
  readonly store: EventStore;
  readonly content: ContentStore;
  readonly keys: Pick<InstanceKeys, "encryptWithSalt" | "hashAddress">;
  /** Whether a bounce event keeps the recipient's domain for good. */
  readonly bounceDomains: boolean;
}

/** Who reported it, and when. */
export interface FeedbackOrigin {
  readonly source: FeedbackSource;
  readonly at: EpochMs;
  readonly actor: string;
  readonly correlationId: string;
  /** Set if only messages of one workspace may be reported on. */
  readonly workspaceId?: string;
}

/** What the recorded feedback takes from the message's content: nothing once it is erased. */
interface Known {
  readonly address: string | null;
  readonly domain?: string;
  readonly encrypt: ((text: string) => string) | null;
}

const NOTHING_KNOWN: Known = { address: null, encrypt: null };

async function known(context: FeedbackContext, id: string, history: EmailHistory): Promise<Known> {
  const content = await contentOf(context, id, history);
  const salt = contentSaltOf(history);
  if (content === null || salt === null) return NOTHING_KNOWN;
  return {
    address: content.to,
    ...(context.bounceDomains ? { domain: domainOf(content.to) } : {}),
    encrypt: (text) => context.keys.encryptWithSalt(salt, redactRelayReply(text, content)),
  };
}

/** The report as far as it is about the recipient, of whose address only the hash is left once it is erased. */
function aboutRecipient(
  { keys }: Pick<FeedbackContext, "keys">,
  report: FeedbackReport,
  { workspaceId, recipientHash }: Pick<Email, "workspaceId" | "recipientHash">,
  address: string | null,
): FeedbackReport {
  if (report.kind !== "bounced") return report;
  const { failedRecipient = "" } = report;
  const isOther = () => {
    if (address !== null) return isAnotherAddress(failedRecipient, address);
    // Servers may rewrite ours, which a hash cannot tell. Rather no suppression than one for somebody else's fault.
    const failed = parseAddress(failedRecipient);
    return "canonical" in failed && keys.hashAddress(workspaceId, failed.canonical) !== recipientHash;
  };
  return isOther() ? { ...report, bounce: asTransient(report.bounce) } : report;
}

function feedbackOf(report: FeedbackReport, { domain, encrypt }: Known): Feedback {
  if (report.kind !== "bounced") return report;
  const { reason, code, enhancedCode } = report.bounce;
  return {
    kind: "bounced",
    reason,
    ...omitUndefined({ code, enhancedCode, recipientDomain: domain }),
    ...(encrypt === null || report.diagnostic === "" ? {} : { sealedReply: encrypt(report.diagnostic) }),
  };
}

/** What a suppression keeps about a bounce. */
function bounceOf(feedback: Feedback) {
  if (feedback.kind !== "bounced") return {};
  const { kind: _, reason: bounceReason, recipientDomain: __, ...reply } = feedback;
  return { bounceReason, ...reply };
}

/**
 * Records feedback on a message, and suppresses the recipient if the feedback calls for it. A repeat changes nothing. The
 * suppression comes first: after a crash in between, the repeat does both. Throws `StoreError`.
 */
export async function recordEmailFeedback(
  context: FeedbackContext,
  id: string,
  reported: FeedbackReport,
  origin: FeedbackOrigin,
): Promise<FeedbackOutcome> {
  const { source, workspaceId: only, ...on } = origin;
  const history = await readEmailHistory(context.store, id);
  const email = history.state;
  // What is simulated never left, so nobody outside can report on it.
  if (email === null || email.isTest) return "notFound";
  if (email.isSimulated && source !== "simulator") return "notFound";
  if (only !== undefined && email.workspaceId !== only) return "notFound";
  // A delivery needs nothing of the content, so it is recorded while the content store is away.
  const facts = reported.kind === "delivered" ? NOTHING_KNOWN : await known(context, id, history);
  const report = aboutRecipient(context, reported, email, facts.address);
  const feedback = feedbackOf(report, facts);
  const first = recordFeedback(email, feedback, source);
  if (first.outcome !== "recorded") return first.outcome;
  const reason = reasonToSuppress(report);
  const { workspaceId, recipientHash } = email;
  if (reason !== null) {
    const { address } = facts;
    const recipient = { workspaceId, recipientHash, address, emailId: id, reason, ...bounceOf(feedback) };
    await suppressRecipient(context.store, recipient, { ...on, workspaceId });
  }
  return transact(context.store, emailAggregate.of(id), (state) => recordFeedback(state, feedback, source), {
    ...on,
    workspaceId,
  });
}
