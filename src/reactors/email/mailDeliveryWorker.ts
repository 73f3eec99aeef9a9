import { type DueEmail, type MailLane, nextReadyAt } from "../../../projections/emails/mailQueue.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { readEmailHistory } from "../../commands/email/emailHistory.ts";
import type { EmailView } from "../../commands/email/readEmail.ts";
import type { Waiting } from "../../domain/email/waitingReason.ts";
import type { WorkspaceState } from "../../domain/workspace/state.ts";
import { settleWithin } from "../../kernel/concurrency/sleep.ts";
import type { RelayFault } from "../../kernel/outcome/mailOutcome.ts";
import type { EpochMs } from "../../kernel/time.ts";
import type { MailSession, MailTransport } from "../../ports/mail/mailTransport.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { breakerProbe } from "../circuitBreaker/breakerProbe.ts";
import { type BreakerFault, type BreakerPermit, CircuitBreaker } from "../circuitBreaker/circuitBreaker.ts";
import type { ContentPermit } from "../content/contentStoreProbe.ts";
import { DeliveryGate, type DeliveryGateOptions } from "../instance/deliveryGate.ts";
import { ClaimScheduler, type ReadyItems, type WorkPermit } from "../worker/claimScheduler.ts";
import { hasDiskForClaims } from "../worker/hasDiskForClaims.ts";
import { jumpProofTime } from "../worker/jumpProofTime.ts";
import type { PeriodicWorker } from "../worker/periodicWorker.ts";
import { type ReadRows, rowReader } from "../worker/tryReadRows.ts";
import { type DeliveryReport, emailDelivery } from "./deliverEmail.ts";
import type { DeliveryDependencies } from "./deliveryDependencies.ts";
import { CONTENT_STORE, FairMailQueue, ownersOf } from "./fairMailQueue.ts";
import { mailExpiryWorker } from "./mailExpiryWorker.ts";
import { readWaitingReason } from "./readWaitingReason.ts";
import type { RelayDeferralReports } from "./relayDeferralReports.ts";
import type { RelayOutageReports } from "./relayOutageReports.ts";
import type { RecentRefusals, RelayRefusalReports } from "./relayRefusalReports.ts";
import { unavailableSender } from "./unavailableSender.ts";

interface MailDeliveryWorkerOptions
  extends Pick<
    DeliveryDependencies,
    | "policy"
    | "bounceDomains"
    | "readSpacingMs"
    | "worker"
    | "endedWorker"
    | "isLogShared"
    | "random"
    | "onTrouble"
    | "onContentLost"
  > {
  readonly deps: Dependencies;
  readonly transport: MailTransport;
  readonly emails: ReadDatabase;
  readonly isCaughtUp: DeliveryGateOptions["isCaughtUp"];
  /** See {@link DeliveryDependencies.returnPathDomain}. */
  readonly returnPathDomain?: string | null;
  /** Told of every failure and success of the relay. */
  readonly relayOutageReports: RelayOutageReports;
  /** Permits reads of the content store, and learns from those of deliveries. */
  readonly contentBreaker: CircuitBreaker<BreakerFault>;
  /** Told of each message that the relay has deferred or accepted. */
  readonly deferralReports: RelayDeferralReports;
  /** Told of mail that the relay permanently refuses because of our setup. */
  readonly refusalReports: RelayRefusalReports;
  /** Told of each message that the relay has accepted: how long after it was due. */
  readonly onSent: (afterMs: number) => void;
}

type RelayPermit = BreakerPermit<RelayFault>;
type CoolingScheduler = Pick<ClaimScheduler<DueEmail, WorkPermit>, "coolDown">;

/** Whether an open session shows that the fault is over. A message whose connection broke found it unreachable too. */
function isOverWithSession({ hadNoSession, trouble }: RelayFault): boolean {
  return hadNoSession === true || trouble === "unreachable";
}

const SIMULATED_IN_FLIGHT_MAX = 8;
const SIMULATOR_PERMIT: WorkPermit = { release: () => {} };
const NOTHING_READY: ReadyItems<DueEmail> = { items: [], more: "none" };
/** How long to leave a paused workspace, an unavailable sender, a content store in trouble, or a message alone. */
const COOL_DOWN_MS = 1_000;

/** Delivers due mail: as many messages at once as the transport has sessions, each under its own claim. */
export class MailDeliveryWorker {
  private readonly delivery: DeliveryDependencies;
  private readonly readDue: ReadRows;
  private readonly deliver: ReturnType<typeof emailDelivery>;
  private readonly breaker: CircuitBreaker<RelayFault>;
  private readonly expiry: PeriodicWorker;
  private readonly probe: PeriodicWorker;
  private readonly stopping = new AbortController();
  private readonly abandoned = new AbortController();
  private readonly scheduler: ClaimScheduler<DueEmail, RelayPermit>;
  /** For simulated mail, which waits neither for the relay nor for a session with it. */
  private readonly simulator: ClaimScheduler<DueEmail, WorkPermit>;
  private running: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: MailDeliveryWorkerOptions) {
    const { deps, transport } = options;
    const { clock } = deps;
    const stopping = this.stopping.signal;
    const abandoned = this.abandoned.signal;
    this.readDue = rowReader(options.emails, options.onTrouble);
    this.delivery = {
      ...deps,
      ...options,
      jumpProofTime: jumpProofTime(clock),
      returnPathDomain: options.returnPathDomain ?? null,
      deliveryGate: new DeliveryGate({ ...deps, isCaughtUp: options.isCaughtUp, stopping }),
      stopping,
      abandoned,
      transport: transport.name,
    };
    this.deliver = emailDelivery(this.delivery);
    this.breaker = new CircuitBreaker(clock, options.relayOutageReports);
    this.probe = this.relayProbe();
    this.expiry = mailExpiryWorker({
      deps: this.delivery,
      workspaces: deps.workspaces,
      emails: options.emails,
      isInFlight: (id) => this.scheduler.isInFlight(id) || this.simulator.isInFlight(id),
      onClockSkewed: (found) => {
        this.scheduler.offer(found.filter(({ lane }) => lane === "relay"));
        this.simulator.offer(found.filter(({ lane }) => lane === "simulator"));
      },
    });
    this.scheduler = new ClaimScheduler({
      ...this.laneOptions("relay"),
      inFlightMax: transport.sessionsMax,
      acquire: () => (this.mayClaim() ? this.breaker.acquire() : null),
      handle: (due, permit) => this.handle(due, permit),
    });
    this.simulator = new ClaimScheduler({
      ...this.laneOptions("simulator"),
      inFlightMax: SIMULATED_IN_FLIGHT_MAX,
      acquire: () => (this.mayClaim() ? SIMULATOR_PERMIT : null),
      handle: (due) => this.simulate(due),
    });
  }

  /** It asks the relay, after trouble, when no message does. */
  private relayProbe(): PeriodicWorker {
    return breakerProbe({
      breaker: this.breaker,
      canEnd: isOverWithSession,
      probe: async (permit) => {
        const session = await this.openSession(permit);
        session?.release();
        if (session !== null) permit.success();
      },
      onTrouble: this.options.onTrouble,
    });
  }

  /** The options both schedulers share. */
  private laneOptions(lane: MailLane) {
    const { isLogShared, random, onTrouble, deps } = this.options;
    const queue = new FairMailQueue(lane);
    return {
      clock: deps.clock,
      isLogShared,
      random,
      stopping: this.stopping.signal,
      onTrouble,
      ready: (now: EpochMs, without: ReadonlySet<string>, limit: number): ReadyItems<DueEmail> =>
        this.readDue((db) => queue.look(db, { now, without, limit })) ?? NOTHING_READY,
      nextReadyAt: (now: EpochMs) => this.readDue((db) => nextReadyAt(db, lane, now)),
      ownersOf,
    };
  }

  private mayClaim(): boolean {
    return this.delivery.deliveryGate.isOpen && hasDiskForClaims(this.options.deps);
  }

  /** Why a message has not ended, as far as this instance knows. `delivers`: whether the worker was started. */
  readWaitingReason(delivers: boolean): (view: EmailView) => Promise<Waiting | null> {
    const { deps, emails, policy } = this.options;
    return readWaitingReason({
      deps,
      emails,
      policy,
      delivers,
      hasRoom: () => hasDiskForClaims(this.options.deps),
      relay: () => {
        const { trouble, restMs } = this.breaker;
        return trouble && { trouble: trouble.trouble, nextTryAt: deps.clock.now() + restMs };
      },
      contentStore: () => {
        const { trouble, restMs } = this.options.contentBreaker;
        return trouble && { nextTryAt: deps.clock.now() + restMs };
      },
    });
  }

  /** Why the relay takes no mail; null while it does. */
  get relayFault(): RelayFault | null {
    return this.breaker.trouble ?? this.options.deferralReports.trouble;
  }

  /** How long the relay has taken no mail. */
  get relayFaultMs(): number {
    const { breaker } = this;
    return breaker.trouble === null ? this.options.deferralReports.troubleMs : breaker.troubleMs;
  }

  /** The messages that the relay refused lately because of our setup; null if there are none. */
  get recentRefusals(): RecentRefusals | null {
    return this.options.refusalReports.recent;
  }

  get inFlightCount(): number {
    return this.scheduler.inFlightCount + this.simulator.inFlightCount;
  }

  start(): void {
    this.running = Promise.all([this.scheduler.run(), this.simulator.run()]);
    this.expiry.start();
    this.probe.start();
  }

  /** The read model has moved. */
  wake(): void {
    this.expiry.wake();
    this.scheduler.wake();
    this.simulator.wake();
  }

  /** Claims nothing more, and waits up to `graceMs` for what is claimed. */
  async stop(graceMs: number): Promise<void> {
    this.stopping.abort();
    const ended = Promise.all([this.running, this.expiry.stop(), this.probe.stop()]);
    await settleWithin<unknown>(graceMs, ended, () => this.abandoned.abort());
    await this.options.transport.close();
  }

  /** Returns the newest revision acted on; null when the message was left as it is. */
  private async handle(due: DueEmail, permit: RelayPermit): Promise<number | null> {
    return this.allowed(due, this.scheduler, async (workspace, contentPermit) => {
      // Only a message that was tried before may be at a relay already.
      const known = due.attempts === 0 ? null : await readEmailHistory(this.options.deps.store, due.id);
      const session = await this.openSession(permit, known?.state?.ambiguousRelay);
      if (session === null) return null;
      try {
        const report = await this.deliver(due, workspace, { session, contentPermit, known });
        if (report.kind === "clockUnsettled") this.scheduler.coolDown(due.id, COOL_DOWN_MS);
        return this.learn(due, permit, report);
      } finally {
        session.release();
      }
    });
  }

  /** As {@link handle}, for a simulated message. */
  private async simulate(due: DueEmail): Promise<number | null> {
    return this.allowed(due, this.simulator, async (workspace, contentPermit) => {
      const report = await this.deliver(due, workspace, { session: null, contentPermit });
      if (report.kind === "clockUnsettled") this.simulator.coolDown(due.id, COOL_DOWN_MS);
      return this.acted(due, report);
    });
  }

  /** Does the work if the message may go and the content store may be asked for it; else null, and both are left alone. */
  private async allowed(
    due: DueEmail,
    scheduler: CoolingScheduler,
    work: (workspace: WorkspaceState, permit: ContentPermit | null) => Promise<number | null>,
  ): Promise<number | null> {
    const workspace = await this.mayGo(due, scheduler);
    if (workspace === null) return null;
    if (!due.needsContentStore) return work(workspace, null);
    const permit = this.options.contentBreaker.acquire();
    if (permit === null) {
      scheduler.coolDown(CONTENT_STORE, COOL_DOWN_MS);
      return null;
    }
    try {
      return await work(workspace, permit);
    } finally {
      permit.release();
    }
  }

  /** Null if the relay lets none be opened, or the worker stops. */
  private async openSession(
    permit: RelayPermit,
    preferredRelay?: string | null,
  ): Promise<MailSession | null> {
    const { signal } = this.stopping;
    const opened = await this.options.transport.session(signal, preferredRelay);
    if (opened.kind === "session") return opened.session;
    if (!signal.aborted) permit.fault({ ...opened, hadNoSession: true });
    return null;
  }

  /** The message's workspace if it and the sender may send; else null, and they are left alone for a while. */
  private async mayGo(due: DueEmail, scheduler: CoolingScheduler): Promise<WorkspaceState> {
    // Ask before opening a session for nothing. It is asked again before the claim.
    if (!(await this.delivery.deliveryGate.ask())) return null;
    const { workspaces, senders } = this.options.deps;
    const [workspace, sender] = await Promise.all([
      workspaces.get(due.workspaceId),
      unavailableSender(due, senders.get),
    ]);
    const owner = workspace?.paused ? due.workspaceId : sender;
    if (owner === null) return workspace;
    scheduler.coolDown(owner, COOL_DOWN_MS);
    return null;
  }

  private learn(due: DueEmail, permit: RelayPermit, report: DeliveryReport): number | null {
    if (report.kind === "attempted") {
      if (report.refusal !== null) this.options.refusalReports.refused(report.refusal);
      if (report.deferral !== null) this.options.deferralReports.deferred(report.deferral);
      if (report.sentAfterMs !== null) {
        this.options.deferralReports.sent();
        this.options.refusalReports.sent(report.route);
        this.options.onSent(report.sentAfterMs);
      }
      if (report.relayFault === null) permit.success();
      else permit.fault(report.relayFault);
    } else this.breaker.closeIf(({ hadNoSession = false }) => hadNoSession);
    return this.acted(due, report);
  }

  private acted(due: DueEmail, report: DeliveryReport): number | null {
    if (report.kind === "notYet" || report.kind === "clockUnsettled") return null;
    if (report.kind === "mayNotSend") this.forgetOwners(due);
    return report.claimRevision ?? due.revision;
  }

  /** Our cached state let a claim through that came too late, so the next look must read it again. */
  private forgetOwners({ workspaceId, senderId, authorityId }: DueEmail): void {
    const { workspaces, senders } = this.options.deps;
    workspaces.forget(workspaceId);
    senders.forget(senderId);
    senders.forget(authorityId);
  }
}
