import {
  leasedVerificationMails,
  readyVerificationMails,
  type VerificationMail,
} from "../../../projections/senders.ts";
import { suppressionAggregate } from "../../commands/aggregateDefinitions.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { transactSender } from "../../commands/sender/manageSender.ts";
import { verificationTokenOf } from "../../commands/sender/verificationLinkSecret.ts";
import {
  type VerificationRequester,
  verificationRequester,
} from "../../commands/sender/verificationRequester.ts";
import { load } from "../../commands/transact.ts";
import { type AttemptResult, classifyMailOutcome } from "../../domain/email/delivery/classifyMailOutcome.ts";
import { DELIVERY_POLICY } from "../../domain/email/delivery/deliveryPolicy.ts";
import type { SenderState } from "../../domain/sender/state.ts";
import {
  type ClaimedMail,
  claimVerificationMail,
  type MailResult,
  settleVerificationMail,
} from "../../domain/sender/verificationMailDelivery.ts";
import { settleWithin } from "../../kernel/concurrency/sleep.ts";
import { domainOf } from "../../kernel/text/emailAddress.ts";
import { StoreError } from "../../ports/eventStore.ts";
import type {
  MailMessage,
  MailSession,
  MailTransport,
  SendDeadlines,
} from "../../ports/mail/mailTransport.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { mailDeadlines } from "../email/mailDeadlines.ts";
import type { RelayOutageReports } from "../email/relayOutageReports.ts";
import { DeliveryGate, type DeliveryGateOptions } from "../instance/deliveryGate.ts";
import type { ClaimWorkerDependencies } from "../worker/claimWorkerDependencies.ts";
import { ExpiredLeases } from "../worker/expiredLeases.ts";
import { hasDiskForClaims } from "../worker/hasDiskForClaims.ts";
import { type PeriodicWorker, periodicWorker, type Round } from "../worker/periodicWorker.ts";
import { retryUntilRecorded } from "../worker/retryUntilRecorded.ts";
import { type RowBackoff, rowBackoff } from "../worker/rowBackoff.ts";
import { workerCommandContext } from "../worker/workerCommandContext.ts";

interface VerificationMailWorkerOptions
  extends Pick<ClaimWorkerDependencies, "worker" | "endedWorker" | "onTrouble"> {
  readonly deps: Dependencies;
  readonly transport: MailTransport;
  /** The read model `senders`. */
  readonly mails: ReadDatabase;
  readonly isCaughtUp: DeliveryGateOptions["isCaughtUp"];
  /** The mail's from address: a bare address of the operator's. */
  readonly from: string;
  /** What the links start with, without a trailing slash. */
  readonly baseUrl: string;
  readonly relayOutageReports: RelayOutageReports;
}

/** Mails that one look finds, and how many of them are sent concurrently. */
const MAILS_MAX = 64;
const AT_ONCE_MAX = 4;
const POLL_INTERVAL_MS = 250;
/** How long to leave the relay alone after a failed connection. */
const RELAY_REST_MS = 2_000;
export const VERIFICATION_LEASE_MS = DELIVERY_POLICY.leaseMs;

const SUBJECT = "Confirm your sending address";

/** Contains nothing the requester wrote, so nobody can use it to send somebody a message. */
function textOf(link: string, { workspaceName, workspaceId, code }: VerificationRequester): string {
  return [
    "Somebody has asked to send email from this address.",
    "",
    ...(workspaceName === "" ? [] : [`Workspace: ${workspaceName}`]),
    `Workspace id: ${workspaceId}`,
    `Code: ${code}`,
    "",
    "If that was you, compare the code with the one that you are shown where you",
    "asked. If it is the same, open this link and press the button on the page.",
    "It works once, within 24 hours:",
    "",
    link,
    "",
    "If it was not you, or the code is another one, do nothing: without your",
    "confirmation no email is sent from your address.",
    "",
  ].join("\r\n");
}

/** Mails the links that verify senders. It claims each mail first, so only one instance sends it. */
export class VerificationMailWorker {
  private readonly stopping = new AbortController();
  private readonly abandoned = new AbortController();
  private readonly leases: ExpiredLeases;
  /** Backs off from mails that fail for a reason of their own. */
  private readonly rests: RowBackoff;
  private readonly deliveryGate: DeliveryGate;
  private readonly rounds: PeriodicWorker;

  constructor(private readonly options: VerificationMailWorkerOptions) {
    this.leases = new ExpiredLeases(options.deps.clock, options.endedWorker);
    this.rests = rowBackoff(options.deps.clock);
    const stopping = this.stopping.signal;
    this.deliveryGate = new DeliveryGate({ ...options.deps, isCaughtUp: options.isCaughtUp, stopping });
    this.rounds = periodicWorker({
      round: (round) => this.round(round),
      intervalMs: POLL_INTERVAL_MS,
      firstDelayMs: 0,
      backoffMsMax: POLL_INTERVAL_MS,
      onTrouble: (error) => options.onTrouble(error, ""),
    });
  }

  start(): void {
    this.rounds.start();
  }

  /** Claims nothing more, and waits up to `graceMs` for what is claimed. Leaves the transport open. */
  async stop(graceMs: number): Promise<void> {
    this.stopping.abort();
    await settleWithin(graceMs, this.rounds.stop(), () => this.abandoned.abort());
  }

  private async round({ stopping, sleep }: Round): Promise<void> {
    const mails = this.due();
    for (let index = 0; index < mails.length; index += AT_ONCE_MAX) {
      if (stopping.aborted || !hasDiskForClaims(this.options.deps)) return;
      const some = mails.slice(index, index + AT_ONCE_MAX);
      const reached = await Promise.all(some.map((mail) => this.tryMail(mail)));
      if (reached.includes(false)) return sleep(RELAY_REST_MS - POLL_INTERVAL_MS);
    }
  }

  /** The mails that can be claimed. Throws `ReadDatabaseError`. */
  private due(): readonly DueMail[] {
    const { mails, deps } = this.options;
    const ready = readyVerificationMails(mails, deps.clock.now(), MAILS_MAX);
    const lapsed = this.leases.expired(leasedVerificationMails(mails, MAILS_MAX));
    const resting = new Set(this.rests.busy());
    return [
      ...lapsed.map((mail) => ({ ...mail, expiredAttempt: mail.attempt })),
      ...ready.map((mail) => ({ ...mail, expiredAttempt: null })),
    ].filter(({ id }) => !resting.has(id));
  }

  /** Returns whether the relay could be reached. */
  private async tryMail(mail: DueMail): Promise<boolean> {
    try {
      if (!(await this.deliveryGate.ask())) return true;
      const opened = await this.options.transport.session(this.stopping.signal);
      if (opened.kind === "broken") {
        if (!this.stopping.signal.aborted) this.options.relayOutageReports.fault(opened);
        return false;
      }
      this.options.relayOutageReports.success();
      try {
        await this.mail(mail, opened.session);
      } finally {
        opened.session.release();
      }
    } catch (error) {
      if (!(error instanceof StoreError)) this.rests.failed(mail.id);
      this.options.onTrouble(error, mail.id);
    }
    return true;
  }

  private async mail({ id, senderId, expiredAttempt }: DueMail, session: MailSession): Promise<void> {
    const { deps, worker } = this.options;
    const { clock } = deps;
    const sender = await deps.senders.get(senderId);
    if (sender === null || !(await this.deliveryGate.ask())) return;
    const claimingSince = clock.monotonicMs();
    const claim = { requestId: id, worker, leaseMs: VERIFICATION_LEASE_MS, expiredAttempt };
    const context = () => workerCommandContext({ clock, worker }, sender.workspaceId);
    const decide = (state: SenderState) => claimVerificationMail(state, { ...claim, now: clock.now() });
    const claimed = await transactSender(deps, senderId, decide, context());
    if (claimed === null) return;
    const deadlines = mailDeadlines(clock, VERIFICATION_LEASE_MS, claimingSince);
    const result = await this.send(senderId, claimed, session, deadlines);
    await retryUntilRecorded(
      { abandoned: this.abandoned.signal, onTrouble: this.options.onTrouble },
      id,
      () => {
        const attempt = { requestId: id, attempt: claimed.attempt, now: clock.now() };
        const settle = (state: SenderState) => settleVerificationMail(state, attempt, result);
        return transactSender(deps, senderId, settle, context());
      },
    );
  }

  private async send(
    senderId: string,
    claimed: ClaimedMail,
    session: MailSession,
    deadlines: SendDeadlines,
  ): Promise<MailResult> {
    const { deps, transport } = this.options;
    // The sender's id is the keyed hash of workspace and address that also identifies a suppression.
    const suppression = await load(deps.store, suppressionAggregate.of(senderId));
    if (suppression.state !== null) return { kind: "failed", reason: "recipient_suppressed", isFinal: true };
    const outcome = await session.send(await this.message(senderId, claimed), deadlines);
    return resultOf(classifyMailOutcome(outcome), transport.name);
  }

  /** Identical in every attempt, so receivers can drop a repeat. */
  private async message(senderId: string, { sender, request }: ClaimedMail): Promise<MailMessage> {
    const { deps, from, baseUrl } = this.options;
    const token = verificationTokenOf(deps, senderId, request.id);
    const of = { senderId, requestId: request.id };
    const requester = await verificationRequester(deps, sender.workspaceId, of);
    return {
      id: request.id,
      messageId: `<${request.id}@${domainOf(from)}>`,
      date: request.requestedAt,
      from,
      to: sender.name,
      subject: SUBJECT,
      text: textOf(`${baseUrl}/senders/verify/${token}`, requester),
    };
  }
}

interface DueMail extends VerificationMail {
  /** The claim whose lease ran out; null when nobody has claimed it. */
  readonly expiredAttempt: number | null;
}

function resultOf(result: AttemptResult, transport: string): MailResult {
  if (result.kind === "sent") return { kind: "sent", transport };
  const { reason, code } = result;
  const isFinal = result.kind !== "deferred";
  return { kind: "failed", reason, isFinal, ...(code === undefined ? {} : { code }) };
}
