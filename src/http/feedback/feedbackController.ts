import type { Principal } from "../../commands/apiKey/authenticate.ts";
import { recordEmailFeedback } from "../../commands/email/feedback/recordEmailFeedback.ts";
import {
  type ProviderReports,
  suppressUnmatched,
  takeProviderReport,
} from "../../commands/email/feedback/takeProviderReport.ts";
import { readEmail } from "../../commands/email/readEmail.ts";
import { asTransient, bounceReason } from "../../domain/email/feedback/bounceReason.ts";
import type { FeedbackSource } from "../../domain/email/feedback/feedbackDecision.ts";
import type { FeedbackReport } from "../../domain/email/feedback/feedbackReport.ts";
import { readPostmarkEvent } from "../../domain/email/feedback/postmarkEvent.ts";
import { asPermanent } from "../../domain/email/feedback/providerFeedback.ts";
import { emailIdOfMessageId } from "../../domain/email/messageId.ts";
import { requireSender, requireSenderOf } from "../server/authorization.ts";
import { type Caller, operationController } from "../server/operationController.ts";
import { found, Problem } from "../server/problem.ts";
import { feedbackOperations, type TellFeedback } from "./feedbackOperations.ts";
import { type MessageSearch, messageSentAs } from "./messageSentAs.ts";

/** What a key needs besides to suppress an address that no message names. */
const SUPPRESSING = "suppression:manage";

interface FeedbackOptions extends MessageSearch {
  /** Whether a bounce keeps its recipient's domain for good. */
  readonly bounceDomains: boolean;
  /** Called for a provider's report that is about no message of the key's workspace. */
  readonly onUnmatched: (source: FeedbackSource) => void;
}

/** What others report about messages. */
export function feedbackController(deps: FeedbackOptions) {
  return operationController(deps, feedbackOperations, {
    tellFeedback: async ({ body, caller }) => {
      const id = found(await messageIdOf(deps, caller.workspaceId, body));
      const report = feedbackReportOf(body);
      const outcome = found(await record(deps, caller, { id, report, source: "api" }));
      return { object: "feedback", email_id: id, outcome } as const;
    },
    takePostmarkEvent: async ({ body, query, caller }) => {
      const suppressesUnmatched = query.suppress_unmatched === "true";
      if (suppressesUnmatched) requireSuppressing(caller.principal);
      const source = "postmark";
      const reports = {
        source,
        record: (id, report) => record(deps, caller, { id, report, source }),
        onUnmatched: deps.onUnmatched,
        ...(suppressesUnmatched
          ? { suppressUnmatched: (one) => suppressUnmatched(deps, "Postmark", one, caller.commandContext()) }
          : {}),
      } satisfies ProviderReports;
      await takeProviderReport(reports, readPostmarkEvent(body));
    },
  });
}

/** Throws if the key may not suppress whom it likes: a report that names no message may name any address. */
function requireSuppressing(principal: Principal): void {
  if (!principal.scopes.has(SUPPRESSING)) {
    throw new Problem("FORBIDDEN", { detail: `suppress_unmatched needs the scope ${SUPPRESSING} too` });
  }
  requireSender(principal, null);
}

interface ReceivedReport {
  readonly id: string;
  readonly report: FeedbackReport;
  readonly source: FeedbackSource;
}

/** Records the report if the message is of the key's workspace, and of its senders if it is bound to some. */
async function record(
  deps: FeedbackOptions,
  { principal, commandContext }: Caller,
  { id, report, source }: ReceivedReport,
) {
  if (principal.senders !== null) {
    const email = await readEmail(deps, principal, id);
    if (email === null) return "notFound" as const;
    await requireSenderOf(deps, principal, email);
  }
  return recordEmailFeedback(deps, id, report, { ...commandContext(), source });
}

/** Our id of the message; null if the given name is not one of ours. */
async function messageIdOf(
  deps: FeedbackOptions,
  workspaceId: string,
  { email_id: emailId, message_id: messageId = "", provider_id: relayId, recipient = "" }: TellFeedback,
): Promise<string | null> {
  if (relayId !== undefined) return messageSentAs(deps, workspaceId, { relayId, recipient });
  return emailId?.toLowerCase() ?? emailIdOfMessageId(messageId);
}

/** How a provider's word changes the reading of a bounce. */
const AS_CALLED = { permanent: asPermanent, transient: asTransient } as const;

function feedbackReportOf({
  type,
  status = "",
  reply = "",
  bounce: called,
  feedback_type: feedbackType = "abuse",
}: TellFeedback): FeedbackReport {
  if (type === "delivered") return { kind: "delivered" };
  if (type === "complained") return { kind: "complained", feedbackType };
  const read = bounceReason({ status, diagnostic: reply });
  const bounce = called === undefined ? read : AS_CALLED[called](read);
  return { kind: "bounced", bounce, diagnostic: reply };
}
