import { listEmails } from "../../../projections/emails/queries.ts";
import type { Principal } from "../../commands/apiKey/authenticate.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { findByRelayId, RELAY_ID_SEARCH_MESSAGES_MAX } from "../../commands/email/feedback/findByRelayId.ts";
import { recordEmailFeedback } from "../../commands/email/feedback/recordEmailFeedback.ts";
import { readEmail } from "../../commands/email/readEmail.ts";
import { addSuppression } from "../../commands/suppression/addOrRemoveSuppression.ts";
import { bounceReason } from "../../domain/email/feedback/bounceReason.ts";
import type { FeedbackSource } from "../../domain/email/feedback/feedbackDecision.ts";
import type { FeedbackReport } from "../../domain/email/feedback/feedbackReport.ts";
import { readInactiveAddress, readPostmarkEvent } from "../../domain/email/feedback/postmarkEvent.ts";
import { asPermanent, asTransient } from "../../domain/email/feedback/providerFeedback.ts";
import { emailIdOfMessageId } from "../../domain/email/messageId.ts";
import { parseAddress } from "../../kernel/text/emailAddress.ts";
import { checkRules } from "../body/validation.ts";
import { type ListSource, scheduledRead, whenCaughtUp } from "../lists/caughtUpReads.ts";
import { requireSender } from "../server/authorization.ts";
import { type Caller, operationController } from "../server/operationController.ts";
import { found, Problem } from "../server/problem.ts";
import { feedbackOperations, type TellFeedback, TellFeedbackBody } from "./feedbackOperations.ts";

/** What a key needs besides to suppress an address that no message names. */
const SUPPRESSING = "suppression:manage";
/** The note on an address that was suppressed without a message. */
const NOTE = "reported by Postmark about mail that was not sent from here";

interface FeedbackOptions extends Dependencies {
  /** Whether a bounce keeps its recipient's domain for good. */
  readonly bounceDomains: boolean;
  readonly readModel: ListSource["readModel"];
  /** Called for a provider's report that is about no message of the key's workspace. */
  readonly onUnmatched: (source: FeedbackSource) => void;
}

/** What others report about messages. */
export function feedbackController(deps: FeedbackOptions) {
  return operationController(deps, feedbackOperations, {
    tellFeedback: async ({ body, caller }) => {
      checkRules(TellFeedbackBody, body);
      const id = found(await messageIdOf(deps, caller.workspaceId, body));
      const report = feedbackReportOf(body);
      const outcome = found(await record(deps, caller, { id, report, source: "api" }));
      return { object: "feedback", email_id: id, outcome } as const;
    },
    takePostmarkEvent: async ({ body, query, caller }) => {
      const suppressesUnmatched = query.suppress_unmatched === "true";
      if (suppressesUnmatched) requireSuppressing(caller.principal);
      const { emailId: id, report } = readPostmarkEvent(body);
      if (report === null) return;
      const source = "postmark";
      const outcome = id === null ? "notFound" : await record(deps, caller, { id, report, source });
      if (outcome !== "notFound") return;
      deps.onUnmatched(source);
      const inactive = suppressesUnmatched && id === null ? readInactiveAddress(body) : null;
      if (inactive !== null) await addSuppression(deps, { ...inactive, note: NOTE }, caller.commandContext());
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
    requireSender(principal, email.content?.from ?? null);
  }
  return recordEmailFeedback(deps, id, report, { ...commandContext(), source });
}

/** Our id of the message; null if the given name is not one of ours. */
async function messageIdOf(
  deps: FeedbackOptions,
  workspaceId: string,
  { email_id: emailId, message_id: messageId = "", provider_id: providerId, recipient = "" }: TellFeedback,
): Promise<string | null> {
  if (providerId !== undefined) return sentAs(deps, workspaceId, recipient, providerId);
  return emailId?.toLowerCase() ?? emailIdOfMessageId(messageId);
}

/** Among the newest messages to the address, the one that the relay took under this id. */
async function sentAs(deps: FeedbackOptions, workspaceId: string, recipient: string, relayId: string) {
  const address = parseAddress(recipient);
  if ("invalid" in address) return null;
  const recipientHash = deps.keys.hashAddress(workspaceId, address.canonical);
  const emails = deps.readModel("emails");
  await whenCaughtUp(emails);
  const wanted = { ownerId: workspaceId, recipientHash, limit: RELAY_ID_SEARCH_MESSAGES_MAX };
  const { rows } = await scheduledRead(emails, (db) => listEmails(db, wanted));
  return findByRelayId(
    deps.store,
    rows.map(({ id }) => id),
    relayId,
  );
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
