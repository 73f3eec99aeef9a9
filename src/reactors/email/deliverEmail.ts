import type { DueEmail } from "../../../projections/emails/mailQueue.ts";
import { senderAggregate, suppressionAggregate, workspaceAggregate } from "../../commands/aggregates.ts";
import { type EmailHistory, readEmailHistory } from "../../commands/email/emailHistory.ts";
import {
  type ClaimedEmail,
  claimEmail,
  recordMailAttempt,
  recordSimulatedAttempt,
  releaseEmailLease,
  suppressRecipient,
} from "../../commands/email/mailAttempts.ts";
import { mailMessage, type WholeContent } from "../../commands/email/mailMessage.ts";
import { contentOf, folderOf } from "../../commands/email/readEmail.ts";
import type { RecentEmailCache } from "../../commands/email/recentEmailCache.ts";
import { openAttachments } from "../../commands/email/storedContent.ts";
import { load } from "../../commands/transact.ts";
import { classifyOutcome, type Verdict } from "../../domain/email/classifyMailOutcome.ts";
import type { EmailContent } from "../../domain/email/events.ts";
import { nextAction } from "../../domain/email/nextAction.ts";
import { type RecordedVerdict, toRecordedVerdict } from "../../domain/email/recordedVerdict.ts";
import { redactRelayReply } from "../../domain/email/redactRelayReply.ts";
import type { DecisionInput, DeliveryPolicy } from "../../domain/email/retrySchedule.ts";
import {
  type SimulatedEnd,
  simulatedEndOf,
  simulatedFeedback,
  simulatedOutcome,
} from "../../domain/email/simulator.ts";
import { deliverFrom, type Email, type EmailState } from "../../domain/email/state.ts";
import { senderStream } from "../../domain/sender/events.ts";
import { authorityOf, type SenderState } from "../../domain/sender/state.ts";
import { suppressionStream } from "../../domain/suppression/events.ts";
import type { SuppressionState } from "../../domain/suppression/state.ts";
import { workspaceStream } from "../../domain/workspace/events.ts";
import { pausedMs, type WorkspaceState } from "../../domain/workspace/state.ts";
import { invariant } from "../../kernel/assert.ts";
import type { InstanceKeys } from "../../kernel/crypto/derivedKeys.ts";
import { returnPathLocalPart } from "../../kernel/crypto/returnPath.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/eventMetadata.ts";
import { newRequestId } from "../../kernel/ids.ts";
import type { RelayFault } from "../../kernel/outcome/mailOutcome.ts";
import { domainOf, parseAddress } from "../../kernel/text/emailAddress.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContentStore } from "../../ports/contentStore.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import type { MailSession } from "../../ports/mailTransport.ts";
import type { SuppressionList } from "../../ports/suppressionList.ts";
import type { SendGate } from "../instance/sendGate.ts";
import { coalescedReads } from "../worker/coalescedReads.ts";
import { retryUntilRecorded } from "../worker/retryUntilRecorded.ts";
import { CORRECTABLE_REASONS, type Refusal } from "./refusalReports.ts";

/** What one delivery works with. */
export interface DeliveryContext {
  readonly store: EventStore;
  readonly content: ContentStore;
  readonly clock: Clock;
  readonly keys: Pick<InstanceKeys, "encryptWithSalt" | "returnPathTag">;
  /** The domain of envelope senders; null: they are the messages' own. */
  readonly returnPathDomain: string | null;
  readonly suppressions: SuppressionList;
  /** The least time between two reads of one workspace or sender: a claim may wait for that long. */
  readonly readSpacingMs: number;
  /** Spares reading what this instance has just accepted; null: everything is read. */
  readonly recent: RecentEmailCache | null;
  readonly policy: DeliveryPolicy;
  /** Whether a bounce says for good at which domain it was. */
  readonly bounceDomains: boolean;
  readonly sendGate: SendGate;
  /** Names this worker process in claims. */
  readonly worker: string;
  readonly transport: string;
  readonly random: () => number;
  /** Aborts when nothing more is to be claimed. */
  readonly stopping: AbortSignal;
  /** Aborts when outcomes can no longer be waited for: the process is about to end. */
  readonly abandoned: AbortSignal;
  readonly onTrouble: (error: unknown, id: string) => void;
}

/** What the scheduler learns from a delivery. */
export type DeliveryReport =
  /** The relay took it or refused it. `reason` is set when the relay was at fault. */
  | {
      readonly kind: "attempted";
      readonly claimRevision: number;
      readonly relayFault: RelayFault | null;
      /** Set when it failed for a reason that the operator can mend. */
      readonly refusal: Refusal | null;
    }
  /** Our clock has gone back since the message was found due, or nothing is to be claimed now. */
  | { readonly kind: "notYet" }
  /** The workspace was paused, or its sender disabled, just before the claim: both need a new look. */
  | { readonly kind: "held"; readonly claimRevision: number }
  /** The log said no after the claim, or there was nothing to claim. */
  | { readonly kind: "notAttempted"; readonly claimRevision: number | null };

/** This part of the lease is kept for recording the outcome: the relay gets the rest. */
const LEASE_MARGIN = 0.1;
/** Stands for the transport of what stays inside. */
const SIMULATOR = "simulator";
/** How long to wait for the list of suppressions before the log is read instead. */
const LIST_WAIT_MS = 200;

/** Builds the function that claims, checks, sends and records one message on an open session. */
export function emailDelivery(context: DeliveryContext) {
  const { store } = context;
  const reads = {
    workspace: coalescedReads(
      async (id) => (await load(store, workspaceAggregate, workspaceStream(id))).state,
      context.readSpacingMs,
    ),
    sender: coalescedReads(
      async (id) => (await load(store, senderAggregate, senderStream(id))).state,
      context.readSpacingMs,
    ),
  };

  return async function deliver(
    due: DueEmail,
    workspace: WorkspaceState,
    session: MailSession | null,
  ): Promise<DeliveryReport> {
    const recent = context.recent?.take(due.id);
    // A claim on an older revision would lose, and nothing would make us look again.
    const history = recent?.revision === due.revision ? recent : await readEmailHistory(store, due.id);
    const input = decisionInputOf(context, history.state, workspace);
    const isAsKnown = history.revision === due.revision;
    if (isAsKnown && history.state && history.state.nextAttemptAt > input.now) return { kind: "notYet" };
    if (!(await context.sendGate.ask()) || context.stopping.aborted) return { kind: "notYet" };
    if (
      mayNotLeave(session, history.state) ||
      nextAction(history.state, input, context.policy).kind !== "deliver"
    ) {
      return { kind: "notAttempted", claimRevision: null };
    }
    const startedAt = context.clock.monotonicMs();
    const { worker, policy } = context;
    const transport = transportOf(context, history.state);
    const request = { worker, transport, leaseMs: policy.leaseMs };
    const claimed = await claimEmail(
      store,
      { id: due.id, ...history },
      request,
      commandContextOf(context, due),
    );
    if (claimed === null) return { kind: "notAttempted", claimRevision: null };
    const leaseMs = policy.leaseMs * (1 - LEASE_MARGIN);
    const deadline = context.clock.now() + leaseMs - (context.clock.monotonicMs() - startedAt);
    return attempt(context, reads, { due, history, claimed, session, deadline, workspace });
  };
}

/** Without a session nothing can leave, and what the log knows of the message decides whether it is to. */
function mayNotLeave(session: MailSession | null, email: EmailState): boolean {
  return session === null && email?.isSimulated !== true;
}

function transportOf({ transport }: DeliveryContext, email: EmailState): string {
  return email?.isSimulated === true ? SIMULATOR : transport;
}

interface Attempt {
  readonly due: DueEmail;
  readonly history: EmailHistory;
  readonly claimed: ClaimedEmail;
  /** Null for what the simulator delivers. */
  readonly session: MailSession | null;
  readonly deadline: number;
  /** As it was known before the claim. */
  readonly workspace: WorkspaceState;
}

interface Reads {
  readonly workspace: (id: string) => Promise<WorkspaceState>;
  readonly sender: (id: string) => Promise<SenderState>;
}

/** What the log says after the claim: nobody else delivers from then on, so this is what counts. */
async function readFacts(context: DeliveryContext, reads: Reads, on: Attempt) {
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
  { due, history }: Attempt,
): Promise<WholeContent | null> {
  const content = await contentOf(context, due.id, history);
  if (content === null || history.state === null) return null;
  const { attachments = [] } = content;
  const files = await openAttachments(context.content, folderOf(due.id, history.state), attachments);
  return files === null ? null : { ...content, files };
}

/**
 * A list that holds the log up to the claim knows what the log knew then; for all else the log is read. Test mail goes by
 * none.
 */
async function readSuppression(
  context: DeliveryContext,
  { due, claimed }: Attempt,
): Promise<SuppressionState> {
  if (claimed.state?.isTest) return null;
  const recipientHash = claimed.state?.recipientHash ?? "";
  const isListCurrent = await context.suppressions.holds(claimed.position, LIST_WAIT_MS);
  if (isListCurrent && !context.suppressions.isSuppressed(due.workspaceId, recipientHash)) return null;
  return (await load(context.store, suppressionAggregate, suppressionStream(recipientHash))).state;
}

async function attempt(context: DeliveryContext, reads: Reads, on: Attempt): Promise<DeliveryReport> {
  const claimRevision = on.claimed.revision;
  const facts = await readFacts(context, reads, on).catch((error: unknown) => {
    context.onTrouble(error, on.due.id);
    return null;
  });
  if (facts === null) {
    // Nothing was sent: left to its lease, the claim would count as one that may have been.
    await releaseLease(context, on, on.workspace, "store_unavailable");
    return { kind: "notAttempted", claimRevision };
  }
  const { workspace, mayLeave, suppression, content } = facts;
  const isOwnBounce = suppression?.emailId === on.due.id && suppression.reason === "bounce";
  const ownBounce = isOwnBounce ? suppression : null;
  if (ownBounce) {
    // This message's own bounce suppressed the recipient, and the crash came before the bounce was recorded.
    const verdict = bounceOf(ownBounce);
    await record(context, on, workspace, placed(context, verdict, content));
    return { kind: "notAttempted", claimRevision };
  }
  const refusal = refusalOf(workspace, mayLeave, suppression !== null, content);
  if (refusal !== null || content === null) {
    await releaseLease(context, on, workspace, refusal ?? "content_unavailable");
    const isHeld = refusal === "sending_paused" || refusal === "sender_unavailable";
    return { kind: isHeld ? "held" : "notAttempted", claimRevision };
  }
  const { session } = on;
  invariant(on.history.state, "a claimed message was accepted");
  const simulated = simulatedEndOfEmail(on.history.state, content);
  if (simulated !== null) return simulate(context, on, simulated, { workspace, content });
  invariant(session, "what does not stay inside is claimed with a session alone");
  const message = mailMessage(on.due.id, on.history.state, content, returnPathOf(context, on));
  const outcome = await session.send(message, on.deadline);
  const said = classifyOutcome(outcome);
  const { relay } = session;
  const named = { ...lasting(context, on, said, content), ...(relay === undefined ? {} : { relay }) };
  const verdict = placed(context, named, content);
  await recordVerdict(context, on, { workspace, content, verdict });
  const relayFault = relayFaultOf(context, said);
  return { kind: "attempted", claimRevision, relayFault, refusal: refusalFor(on.due.id, said) };
}

/** As it was found to be at the acceptance: what was to stay inside then never leaves. */
function simulatedEndOfEmail({ isSimulated }: Email, { to }: EmailContent): SimulatedEnd | null {
  const address = parseAddress(to);
  return simulatedEndOf("canonical" in address ? address.canonical : to, isSimulated);
}

/** What a message to the simulator comes to: nothing is said to the relay. */
async function simulate(
  context: DeliveryContext,
  on: Attempt,
  end: SimulatedEnd,
  { workspace, content }: Pick<Verdicted, "workspace" | "content">,
): Promise<DeliveryReport> {
  const verdict = lasting(context, on, classifyOutcome(simulatedOutcome(end)), content);
  const attempted = { verdict, feedback: simulatedFeedback(end) };
  const simulator = { ...context, transport: SIMULATOR };
  await retryUntilRecorded(context, on.due.id, () =>
    recordSimulatedAttempt(context.store, on.claimed, attempted, recording(simulator, on, workspace)),
  );
  return { kind: "notAttempted", claimRevision: on.claimed.revision };
}

/** What names this attempt in mail that comes back. */
function returnPathOf({ keys, clock, returnPathDomain }: DeliveryContext, { due, claimed }: Attempt) {
  if (returnPathDomain === null) return undefined;
  const named = { emailId: due.id, attempt: claimed.attempt };
  return `${returnPathLocalPart(keys, named, clock.now())}@${returnPathDomain}`;
}

/** A failure that is neither the message's nor its recipient's. */
function refusalFor(emailId: string, verdict: Verdict): Refusal | null {
  if (verdict.kind !== "failed") return null;
  const reason = CORRECTABLE_REASONS.find((mendable) => mendable === verdict.reason);
  return reason === undefined ? null : { emailId, reason, code: verdict.code };
}

/** What the verdict says of the relay. Its own words may name people, so of an answer only the code is reported. */
function relayFaultOf({ transport }: DeliveryContext, verdict: Verdict): RelayFault | null {
  if (verdict.kind !== "deferred" || !verdict.relayFault) return null;
  const { reason, code, reply } = verdict;
  if (transport === "outbox") return { trouble: "outbox_unwritable", reason: reply ?? reason };
  if (code === undefined) return { trouble: "unreachable", reason };
  const trouble = reason === "authentication_required" ? "login_refused" : "unavailable";
  return { trouble, reason: `${reason}: ${code}` };
}

function releaseLease(
  context: DeliveryContext,
  on: Attempt,
  workspace: WorkspaceState,
  why: Parameters<typeof releaseEmailLease>[2],
): Promise<void> {
  return retryUntilRecorded(context, on.due.id, () =>
    releaseEmailLease(context.store, on.claimed, why, recording(context, on, workspace)),
  );
}

function refusalOf(
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

/** What the message's own suppression says of the bounce that led to it. */
function bounceOf(suppression: NonNullable<SuppressionState>): RecordedVerdict {
  const { bounceReason = "recipient_address_rejected", code = 550, enhancedCode, sealedReply } = suppression;
  return {
    kind: "bounced",
    reason: bounceReason,
    code,
    suppress: true,
    ...(enhancedCode === undefined ? {} : { enhancedCode }),
    ...(sealedReply === undefined ? {} : { sealedReply }),
  };
}

/** The verdict as it is recorded: the reply is encrypted with the salt that is erased together with the content. */
function lasting(
  { keys }: DeliveryContext,
  { history }: Attempt,
  verdict: Verdict,
  { from, to, toName = "", replyTo = "", replyToName = "", subject }: EmailContent,
): RecordedVerdict {
  const first = history.events[0]?.event;
  invariant(first?.type === "EmailContentStored", "a message with content begins with it");
  const { salt } = first.data;
  const encrypt = (reply: string) =>
    keys.encryptWithSalt(salt, redactRelayReply(reply, from, to, [replyTo, subject, toName, replyToName]));
  return toRecordedVerdict(verdict, encrypt, [from, to, replyTo]);
}

/** A bounce with the domain that it was at, where that is to be kept and the content still shows it. */
function placed(
  { bounceDomains }: DeliveryContext,
  verdict: RecordedVerdict,
  content: EmailContent | null,
): RecordedVerdict {
  if (verdict.kind !== "bounced" || !bounceDomains || content === null) return verdict;
  return { ...verdict, recipientDomain: domainOf(content.to) };
}

interface Verdicted {
  readonly workspace: WorkspaceState;
  readonly content: EmailContent;
  readonly verdict: RecordedVerdict;
}

async function recordVerdict(
  context: DeliveryContext,
  on: Attempt,
  { workspace, content, verdict }: Verdicted,
) {
  if (verdict.kind === "bounced" && verdict.suppress) {
    // First the suppression: a crash in between is found by the next attempt, which sends nothing.
    const { reason, code, enhancedCode, sealedReply } = verdict;
    const recipientHash = on.claimed.state?.recipientHash ?? "";
    const bounced = {
      workspaceId: on.due.workspaceId,
      recipientHash,
      address: content.to,
      emailId: on.due.id,
      reason: "bounce" as const,
      bounceReason: reason,
      ...(code === undefined ? {} : { code }),
      ...(enhancedCode === undefined ? {} : { enhancedCode }),
      ...(sealedReply === undefined ? {} : { sealedReply }),
    };
    await retryUntilRecorded(context, on.due.id, () =>
      suppressRecipient(context.store, bounced, commandContextOf(context, on.due)),
    );
  }
  await record(context, on, workspace, verdict);
}

function record(
  context: DeliveryContext,
  on: Attempt,
  workspace: WorkspaceState,
  verdict: RecordedVerdict,
): Promise<void> {
  return retryUntilRecorded(context, on.due.id, () =>
    recordMailAttempt(context.store, on.claimed, verdict, recording(context, on, workspace)),
  );
}

function recording(context: DeliveryContext, on: Attempt, workspace: WorkspaceState) {
  const { policy, transport } = context;
  const commandContext = commandContextOf(context, on.due);
  return {
    policy,
    transport,
    context: commandContext,
    input: decisionInputOf(context, on.history.state, workspace),
  };
}

/** What a decision about this message depends on beside its state: the time, and pauses. */
export function decisionInputOf(
  context: Pick<DeliveryContext, "clock" | "random" | "sendGate">,
  state: EmailState,
  workspace: WorkspaceState,
): DecisionInput {
  const now = context.clock.now();
  const paused =
    state === null ? 0 : pausedMs(workspace, deliverFrom(state), now, context.sendGate.downtimes);
  return { now, random: context.random(), pausedMs: paused };
}

/** The command context of a delivery worker. */
export function commandContextOf(
  context: Pick<DeliveryContext, "clock" | "worker">,
  { workspaceId }: Pick<DueEmail, "workspaceId">,
): WorkspaceCommandContext {
  const actor = `worker:${context.worker}`;
  return { at: context.clock.now(), correlationId: newRequestId(), actor, workspaceId };
}
