import type { DueEmail } from "../../../projections/emails/mailQueue.ts";
import { senderAggregate, workspaceAggregate } from "../../commands/aggregateDefinitions.ts";
import { type EmailHistory, readEmailHistory } from "../../commands/email/emailHistory.ts";
import {
  claimEmail,
  recordMailAttempt,
  recordSimulatedAttempt,
  releaseEmailLease,
  releaseUnconfirmedClaim,
} from "../../commands/email/mailAttempts.ts";
import { mailMessage, type WholeContent } from "../../commands/email/mailMessage.ts";
import { load } from "../../commands/transact.ts";
import { type AttemptResult, classifyMailOutcome } from "../../domain/email/delivery/classifyMailOutcome.ts";
import { nextDeliveryAction } from "../../domain/email/delivery/nextDeliveryAction.ts";
import { isDue } from "../../domain/email/delivery/retrySchedule.ts";
import { enhancedCode } from "../../domain/email/delivery/smtpReplyRules.ts";
import type { EmailContent } from "../../domain/email/events.ts";
import {
  type SimulatedEnd,
  simulatedEndOf,
  simulatedFeedback,
  simulatedOutcome,
} from "../../domain/email/simulator.ts";
import { deliverFrom, type Email, type EmailState } from "../../domain/email/state.ts";
import type { WorkspaceState } from "../../domain/workspace/state.ts";
import { invariant } from "../../kernel/assert.ts";
import { returnPathLocalPart } from "../../kernel/crypto/returnPath.ts";
import {
  LOG_IN_CODES,
  type MailStage,
  RELAY_TROUBLE_CODES,
  type RelayFault,
  type RelayTrouble,
} from "../../kernel/outcome/mailOutcome.ts";
import { domainOf, parseAddress } from "../../kernel/text/emailAddress.ts";
import { ContentStoreError } from "../../ports/contentStore.ts";
import { destinationOf, type TransportName } from "../../ports/mail/mailTransport.ts";
import { reportContentFault } from "../content/contentStoreProbe.ts";
import { claimOrRelease } from "../worker/claimOrRelease.ts";
import { coalescedReads } from "../worker/coalescedReads.ts";
import { workerCommandContext } from "../worker/workerCommandContext.ts";
import {
  type DeliveryAttempt,
  type DeliveryDependencies,
  type DeliveryMeans,
  decisionInputOf,
  recordingOf,
} from "./deliveryDependencies.ts";
import { mailDeadlines } from "./mailDeadlines.ts";
import { deliveryRefusal, readBeforeDelivery, type SharedReads } from "./preDeliveryChecks.ts";
import {
  type AttemptOutcome,
  earlierBounce,
  recordedResultOf,
  recordResult,
  untilRecorded,
  withRecipientDomain,
} from "./recordDelivery.ts";
import type { Deferral } from "./relayDeferralReports.ts";
import { CORRECTABLE_REASONS, type MailRoute, type Refusal } from "./relayRefusalReports.ts";

/** What the scheduler learns from a delivery. */
export type DeliveryReport =
  /** The relay took or refused it. `relayFault` is set when the relay was at fault. */
  | {
      readonly kind: "attempted";
      readonly claimRevision: number;
      readonly relayFault: RelayFault | null;
      /** Set when it failed for a reason the operator can fix. */
      readonly refusal: Refusal | null;
      /** Set when the relay has put it off, for no fault of its own. */
      readonly deferral: Deferral | null;
      readonly route: MailRoute;
      /** How long after it was due the relay accepted it; null if it did not. */
      readonly sentAfterMs: number | null;
    }
  /** Our clock has gone back since the message was found due, or nothing may be claimed now. */
  | { readonly kind: "notYet" }
  /** Its deadline has passed by a clock that may be wrong: look again later. */
  | { readonly kind: "clockUnsettled" }
  /** The workspace was paused, or its sender disabled, just before the claim: read both again. */
  | { readonly kind: "mayNotSend"; readonly claimRevision: number }
  /** The log said no after the claim, or there was nothing to claim. */
  | { readonly kind: "notAttempted"; readonly claimRevision: number | null };

/** The transport recorded for mail that never leaves. */
const SIMULATOR = "simulator";

/** Builds the function that claims, checks, sends and records one message on an open session. */
export function emailDelivery(deps: DeliveryDependencies) {
  const { store } = deps;
  const reads = {
    workspace: coalescedReads(
      async (id) => (await load(store, workspaceAggregate.of(id))).state,
      deps.readSpacingMs,
    ),
    sender: coalescedReads(
      async (id) => (await load(store, senderAggregate.of(id))).state,
      deps.readSpacingMs,
    ),
  };

  return async function deliver(
    due: DueEmail,
    workspace: WorkspaceState,
    { session, contentPermit, known = null }: DeliveryMeans,
  ): Promise<DeliveryReport> {
    const history = known ?? (await historyOf(deps, due));
    const input = decisionInputOf(deps, history.state, workspace);
    const isAsKnown = history.revision === due.revision;
    if (isAsKnown && history.state && !isDue(history.state, deps.policy, input.now))
      return { kind: "notYet" };
    if (!(await deps.deliveryGate.ask())) return { kind: "notYet" };
    // Without a session nothing can leave. Only the log knows whether the message is meant to leave.
    const mayLeave = session !== null || history.state?.isSimulated === true;
    const action = nextDeliveryAction(history.state, input, deps.policy);
    if (action.kind === "waitForClock") return { kind: "clockUnsettled" };
    if (!mayLeave || action.kind !== "deliver") return { kind: "notAttempted", claimRevision: null };
    const claimingSince = deps.clock.monotonicMs();
    const { worker, policy } = deps;
    const transport = transportOf(deps, history.state);
    const request = { worker, transport, leaseMs: policy.leaseMs };
    const claimed = await claimOrRelease(deps, {
      id: due.id,
      claim: () =>
        claimEmail(store, { id: due.id, ...history }, request, workerCommandContext(deps, due.workspaceId)),
      release: () => releaseUnconfirmed(deps, due, workspace),
    });
    if (claimed === null) return { kind: "notAttempted", claimRevision: null };
    const deadlines = mailDeadlines(deps.clock, policy.leaseMs, claimingSince);
    return deliverClaimed(deps, reads, {
      due,
      history,
      claimed,
      session,
      contentPermit,
      deadlines,
      workspace,
    });
  };
}

/** The message's history. A claim on an older revision would lose, and nothing would make us look again. */
async function historyOf(
  { store, recentEmails }: DeliveryDependencies,
  { id, revision }: DueEmail,
): Promise<EmailHistory> {
  const cached = recentEmails?.take(id);
  return cached?.revision === revision ? cached : readEmailHistory(store, id);
}

/** Releases the claim if it is in the log after all. */
async function releaseUnconfirmed(
  deps: DeliveryDependencies,
  { id, workspaceId }: DueEmail,
  workspace: WorkspaceState,
): Promise<void> {
  const { state } = await readEmailHistory(deps.store, id);
  const recording = recordingOf(deps, { workspaceId, state, workspace });
  await releaseUnconfirmedClaim(deps.store, id, deps.worker, recording);
}

function transportOf({ transport }: DeliveryDependencies, email: EmailState): TransportName {
  return email?.isSimulated === true ? SIMULATOR : transport;
}

/** Checks everything again, now that nobody else can deliver the message, and delivers it if it still may go. */
async function deliverClaimed(
  deps: DeliveryDependencies,
  reads: SharedReads,
  attempt: DeliveryAttempt,
): Promise<DeliveryReport> {
  const claimRevision = attempt.claimed.revision;
  const facts = await readBeforeDelivery(deps, reads, attempt).catch((error: unknown) => {
    deps.onTrouble(error, attempt.due.id);
    if (!(error instanceof ContentStoreError)) return "store_unavailable" as const;
    if (attempt.contentPermit !== null) reportContentFault(attempt.contentPermit, error);
    return "content_store_unavailable" as const;
  });
  if (typeof facts === "string") {
    // Nothing was sent. If we let the lease run out, the attempt would count as possibly sent.
    await untilRecorded(deps, attempt, attempt.workspace, (recording) =>
      releaseEmailLease(deps.store, attempt.claimed, facts, recording),
    );
    return { kind: "notAttempted", claimRevision };
  }
  attempt.contentPermit?.success();
  const { workspace, mayLeave, suppression, content } = facts;
  if (suppression?.emailId === attempt.due.id && suppression.reason === "bounce") {
    // This message's own bounce suppressed the recipient, and we crashed before recording the bounce.
    const result = withRecipientDomain(deps, earlierBounce(suppression), content);
    await untilRecorded(deps, attempt, workspace, (recording) =>
      recordMailAttempt(deps.store, attempt.claimed, result, recording),
    );
    return { kind: "notAttempted", claimRevision };
  }
  const refusal = deliveryRefusal(workspace, mayLeave, suppression !== null, content);
  if (refusal !== null || content === null) {
    const why = refusal ?? "content_unavailable";
    await untilRecorded(deps, attempt, workspace, (recording) =>
      releaseEmailLease(deps.store, attempt.claimed, why, recording),
    );
    if (why === "content_unavailable") deps.onContentLost(attempt.due.id);
    const mayNotSend = refusal === "sending_paused" || refusal === "sender_unavailable";
    return { kind: mayNotSend ? "mayNotSend" : "notAttempted", claimRevision };
  }
  invariant(attempt.history.state, "a claimed message was accepted");
  const simulated = simulatedEndOfEmail(attempt.history.state, content);
  if (simulated !== null) return simulate(deps, attempt, simulated, { workspace, content });
  return handOver(deps, attempt, { workspace, content });
}

/** Hands the message to the relay and records the outcome. */
async function handOver(
  deps: DeliveryDependencies,
  attempt: DeliveryAttempt,
  { workspace, content }: { readonly workspace: WorkspaceState; readonly content: WholeContent },
): Promise<DeliveryReport> {
  const { due, claimed, session, deadlines } = attempt;
  const { state } = attempt.history;
  invariant(session && state, "what does not stay inside is claimed with a session alone");
  const message = mailMessage(due.id, state, content, returnPathOf(deps, attempt));
  const mailOutcome = await session.send(message, deadlines);
  const result = classifyMailOutcome(mailOutcome);
  // The clock may have been set back meanwhile.
  const afterMs = Math.max(0, deps.clock.now() - deliverFrom(state));
  const { relay } = session;
  const recorded = {
    ...recordedResultOf(deps, attempt, result, content),
    ...(relay === undefined ? {} : { relay }),
  };
  const outcome = { workspace, content, result: withRecipientDomain(deps, recorded, content) };
  await recordResult(deps, attempt, outcome);
  const isAboutMessage = mailOutcome.kind === "refused" && MESSAGE_STAGES.includes(mailOutcome.stage);
  const relayFault = relayFaultOf(deps, result, isAboutMessage ? due.id : undefined);
  const route: MailRoute = `${due.senderId} to ${domainOf(content.to)}`;
  const refusal = refusalFor(due.id, route, result);
  const sentAfterMs = result.kind === "sent" ? afterMs : null;
  const deferral = deferralOf(due.id, state.recipientHash, result);
  const { revision: claimRevision } = claimed;
  return { kind: "attempted", claimRevision, relayFault, refusal, deferral, route, sentAfterMs };
}

/** As decided at acceptance: a message that was then to be simulated never leaves. */
function simulatedEndOfEmail({ isSimulated }: Email, { to }: EmailContent): SimulatedEnd | null {
  const address = parseAddress(to);
  return simulatedEndOf("canonical" in address ? address.canonical : to, isSimulated);
}

/** Simulates a delivery. Nothing goes to the relay. */
async function simulate(
  deps: DeliveryDependencies,
  attempt: DeliveryAttempt,
  end: SimulatedEnd,
  { workspace, content }: Pick<AttemptOutcome, "workspace" | "content">,
): Promise<DeliveryReport> {
  const result = recordedResultOf(deps, attempt, classifyMailOutcome(simulatedOutcome(end)), content);
  const attempted = { result, feedback: simulatedFeedback(end) };
  await untilRecorded({ ...deps, transport: SIMULATOR }, attempt, workspace, (recording) =>
    recordSimulatedAttempt(deps.store, attempt.claimed, attempted, recording),
  );
  return { kind: "notAttempted", claimRevision: attempt.claimed.revision };
}

/** The envelope sender that identifies this attempt in mail that comes back. */
function returnPathOf(
  { keys, clock, returnPathDomain }: DeliveryDependencies,
  { due, claimed }: DeliveryAttempt,
) {
  if (returnPathDomain === null) return undefined;
  const named = { emailId: due.id, attempt: claimed.attempt };
  return `${returnPathLocalPart(keys, named, clock.now())}@${returnPathDomain}`;
}

/** A failure that is neither the message's nor its recipient's fault. */
function refusalFor(emailId: string, route: MailRoute, result: AttemptResult): Refusal | null {
  if (result.kind !== "failed") return null;
  const reason = CORRECTABLE_REASONS.find((one) => one === result.reason);
  return reason === undefined ? null : { emailId, route, reason, code: result.code };
}

function deferralOf(emailId: string, recipientHash: string, result: AttemptResult): Deferral | null {
  if (result.kind !== "deferred" || result.relayFault || result.code === undefined) return null;
  const codes = `${result.code} ${enhancedCode(result.reply ?? "")}`.trim();
  return { emailId, recipientHash, reason: `${result.reason}: ${codes}` };
}

/** Relay answers that an operator can act on. */
const TROUBLE_OF_REASON: Readonly<Partial<Record<string, RelayTrouble>>> = {
  authentication_required: "login_refused",
  throttled: "throttled",
  tls_required: "tls_failed",
};
/** Replies with such a code are about the relay, whatever the message. */
const RELAYS_CODES: readonly number[] = [...RELAY_TROUBLE_CODES, ...LOG_IN_CODES];

/** The stages whose refusal may be about this message alone. */
const MESSAGE_STAGES: readonly MailStage[] = ["rcpt", "data", "final"];

/** What the result says about the relay. An answer's words may name people, so only its code is reported. */
function relayFaultOf(
  { transport }: DeliveryDependencies,
  result: AttemptResult,
  emailId: string | undefined,
): RelayFault | null {
  if (result.kind !== "deferred" || !result.relayFault) return null;
  const { reason, code, reply } = result;
  if (destinationOf(transport) === "files") return { trouble: "outbox_unwritable", reason: reply ?? reason };
  if (reason === "no_answer_to_final_dot") return { trouble: "unconfirmed", reason };
  if (code === undefined) return { trouble: "unreachable", reason };
  const trouble = TROUBLE_OF_REASON[reason] ?? "unavailable";
  const isCertain = trouble === "throttled" || RELAYS_CODES.includes(code);
  return {
    trouble,
    reason: `${reason}: ${code}`,
    ...(isCertain || emailId === undefined ? {} : { emailId }),
  };
}
