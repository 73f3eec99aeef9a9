import {
  agedEmailsOf,
  type DueEmail,
  leasedEmails,
  nextReadyAt,
  nextWorkspaceByAge,
  type WaitingWorkspace,
} from "../../../projections/mailQueue.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { readEmailHistory } from "../../commands/email/emailHistory.ts";
import { expireEmail, expireEmailLease } from "../../commands/email/mailAttempts.ts";
import type { EmailView } from "../../commands/email/readEmail.ts";
import { nextAction } from "../../domain/email/nextAction.ts";
import type { DeliveryPolicy } from "../../domain/email/retrySchedule.ts";
import type { Waiting } from "../../domain/email/waitingReason.ts";
import { authorityOf } from "../../domain/sender/state.ts";
import type { RelayFault } from "../../kernel/outcome/mailOutcome.ts";
import { StoreError } from "../../ports/eventStore.ts";
import type { MailTransport } from "../../ports/mailTransport.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { SendGate, type SendGateOptions } from "../instance/sendGate.ts";
import { type AbortableSleep, abortableSleep } from "../worker/abortableSleep.ts";
import { ClaimScheduler } from "../worker/claimScheduler.ts";
import { ExpiredLeases } from "../worker/expiredLeases.ts";
import { readRows } from "../worker/readRows.ts";
import { type RowBackoff, rowBackoff } from "../worker/rowBackoff.ts";
import {
  commandContextOf,
  type DeliveryContext,
  type DeliveryReport,
  emailDelivery,
  momentOf,
} from "./deliverEmail.ts";
import { FairMailQueue } from "./fairMailQueue.ts";
import type { Refusal, RefusalReports } from "./refusalReports.ts";
import { RelayCircuitBreaker, type RelayPermit } from "./relayCircuitBreaker.ts";
import type { RelayOutageReports } from "./relayOutageReports.ts";
import { whyWaiting } from "./whyWaiting.ts";

export interface MailDeliveryOptions {
  readonly deps: Dependencies;
  readonly transport: MailTransport;
  /** The read model `emails`. */
  readonly emails: ReadDatabase;
  /** See {@link SendGateOptions.isCaughtUp}. */
  readonly isCaughtUp: SendGateOptions["isCaughtUp"];
  readonly policy: DeliveryPolicy;
  /** See {@link DeliveryContext.bounceDomains}. */
  readonly bounceDomains: boolean;
  /** See {@link DeliveryContext.returnPathDomain}. */
  readonly returnPathDomain?: string | null;
  /** See {@link DeliveryContext.readSpacingMs}. */
  readonly readSpacingMs: number;
  readonly worker: string;
  /** In [0, 1). */
  readonly random: () => number;
  readonly onTrouble: DeliveryContext["onTrouble"];
  /** Hears of every failure and success of the relay. */
  readonly relayOutageReports: RelayOutageReports;
  /** Hears of mail that the relay refuses for good for our sake. */
  readonly refusalReports: RefusalReports;
}

/** Claims, and aged messages, that one round of housekeeping looks at. */
const HOUSEKEEPING_MAX = 1_000;
/** Of these, aged messages of one workspace, those that rest after a fault apart: what it has beyond waits a round. */
const AGED_OF_WORKSPACE_MAX = 100;
/** Workspaces whose oldest message one round of housekeeping looks at: the next one goes on behind them. */
const AGED_WORKSPACES_MAX = 256;
/** Leases are looked at this often; a claim is given up at most this late. */
const HOUSEKEEPING_MS = 250;
/** News of the read model bring a look forward, but not more often than this. */
const HOUSEKEEPING_MS_MIN = 25;
/** Between two looks for messages whose time may be over, when all workspaces have been looked at. */
const AGED_MS = 5_000;
/** How long a paused workspace or an unavailable sender is left alone. */
const COOL_DOWN_MS = 1_000;

/**
 * Delivers what is due: as many messages at once as the transport has sessions, each under a claim of its own.
 */
export class MailDelivery {
  private readonly context: DeliveryContext;
  private readonly deliver: ReturnType<typeof emailDelivery>;
  private readonly breaker: RelayCircuitBreaker;
  private readonly leases: ExpiredLeases;
  private readonly stopping = new AbortController();
  private readonly abandoned = new AbortController();
  private readonly scheduler: ClaimScheduler<DueEmail, RelayPermit>;
  /** Lets housekeeping sleep between two rounds. */
  private readonly housekeepingSleep: AbortableSleep;
  /** Of messages that housekeeping could not see to. */
  private readonly backoff: RowBackoff;
  private isHouseStale = false;
  private readonly queue = new FairMailQueue();
  /** The last workspace whose messages' age was looked at. */
  private agedAfter = "";
  private running: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: MailDeliveryOptions) {
    const { deps, policy, worker, random, transport, onTrouble } = options;
    const { store, content, clock, keys, recent, suppressions } = deps;
    const stopping = this.stopping.signal;
    const abandoned = this.abandoned.signal;
    this.context = {
      store,
      content,
      clock,
      keys,
      recent,
      suppressions,
      readSpacingMs: options.readSpacingMs,
      policy,
      bounceDomains: options.bounceDomains,
      returnPathDomain: options.returnPathDomain ?? null,
      sendGate: new SendGate({ ...deps, isCaughtUp: options.isCaughtUp }),
      worker,
      random,
      stopping,
      abandoned,
      onTrouble,
      transport: transport.name,
    };
    this.deliver = emailDelivery(this.context);
    this.breaker = new RelayCircuitBreaker(clock, options.relayOutageReports);
    this.leases = new ExpiredLeases(clock);
    this.housekeepingSleep = abortableSleep(stopping);
    this.backoff = rowBackoff(clock);
    this.scheduler = new ClaimScheduler({
      clock,
      random,
      stopping,
      onTrouble,
      inFlightMax: transport.sessionsMax,
      ready: (now, held, limit) =>
        this.readDue((db) => this.queue.look(db, { now, held, limit })) ?? { items: [], more: "none" },
      nextReadyAt: (now) => this.readDue((db) => nextReadyAt(db, now)),
      acquire: () => (this.context.sendGate.isOpen && this.hasRoom() ? this.breaker.acquire() : null),
      ownersOf: ({ workspaceId, senderId, authorityId }) => [workspaceId, senderId, authorityId],
      handle: (due, permit) => this.handle(due, permit),
    });
  }

  /** Why a message has not ended, as far as this instance knows. `delivers`: whether it was started. */
  whyWaiting(delivers: boolean): (view: EmailView) => Promise<Waiting | null> {
    const { deps, emails, policy } = this.options;
    return whyWaiting({
      deps,
      emails,
      policy,
      delivers,
      hasRoom: () => this.hasRoom(),
      relay: () => {
        const { trouble, restMs } = this.breaker;
        return trouble && { trouble: trouble.trouble, nextTryAt: deps.clock.now() + restMs };
      },
    });
  }

  /** What keeps the relay from taking mail; null while nothing does. */
  get relayFault(): RelayFault | null {
    return this.breaker.trouble;
  }

  /** The last message that the relay refused for our sake; null when there was none lately. */
  get recentRefusal(): Refusal | null {
    return this.options.refusalReports.recent;
  }

  /** Messages that are being delivered here. */
  get inFlightCount(): number {
    return this.scheduler.inFlightCount;
  }

  start(): void {
    this.running = Promise.all([this.scheduler.run(), this.keepHouse()]);
  }

  /** The read model has moved. */
  wake(): void {
    this.isHouseStale = true;
    this.housekeepingSleep.wakeAll();
    this.scheduler.wake();
  }

  /** Claims nothing more, and waits for what is claimed until `graceMs` have passed. */
  async stop(graceMs: number): Promise<void> {
    this.stopping.abort();
    const timer = setTimeout(() => this.abandoned.abort(), graceMs);
    const overdue = new Promise((resolve) => this.abandoned.signal.addEventListener("abort", resolve));
    await Promise.race([this.running, overdue]);
    clearTimeout(timer);
    await this.options.transport.close();
  }

  /** Below half of the disk's minimum no claim is made: outcomes must still find room. */
  private hasRoom(): boolean {
    const { disk, diskFreeBytesMin } = this.options.deps;
    return disk.freeBytes() >= diskFreeBytesMin / 2;
  }

  /** Answers the newest revision that was acted on; null when the message was left as it is. */
  private async handle(due: DueEmail, permit: RelayPermit): Promise<number | null> {
    // Before a session is opened for nothing; it is asked once more before the claim.
    if (!(await this.context.sendGate.ask())) return null;
    const { workspaces, senders } = this.options.deps;
    const [workspace, sender, domain] = await Promise.all([
      workspaces.get(due.workspaceId),
      senders.get(due.senderId),
      due.authorityId === due.senderId ? null : senders.get(due.authorityId),
    ]);
    if (workspace?.paused || authorityOf(sender, domain) === null) {
      const owner = sender?.disabled ? due.senderId : due.authorityId;
      this.scheduler.coolDown(workspace?.paused ? due.workspaceId : owner, COOL_DOWN_MS);
      return null;
    }
    const opened = await this.options.transport.session(this.stopping.signal);
    if (opened.kind === "broken") {
      if (!this.stopping.signal.aborted) permit.fault(opened);
      return null;
    }
    try {
      return this.learn(due, permit, await this.deliver(due, workspace, opened.session));
    } finally {
      opened.session.release();
    }
  }

  private learn(due: DueEmail, permit: RelayPermit, report: DeliveryReport): number | null {
    if (report.kind === "notYet") return null;
    if (report.kind === "held") this.forgetOwners(due);
    if (report.kind === "attempted") {
      if (report.refusal !== null) this.options.refusalReports.refused(report.refusal);
      if (report.relayFault === null) permit.success();
      else permit.fault(report.relayFault);
    }
    return report.claimRevision ?? due.revision;
  }

  /** What was known of them let a claim through that came too late: the next look at the message is to know better. */
  private forgetOwners({ workspaceId, senderId, authorityId }: DueEmail): void {
    const { workspaces, senders } = this.options.deps;
    workspaces.forget(workspaceId);
    senders.forget(senderId);
    senders.forget(authorityId);
  }

  /** What the read model says; null while it cannot be read or is damaged: its follower sees to that. */
  private readDue<Result>(query: (db: ReadDatabase) => Result): Result | null {
    return readRows(() => query(this.options.emails), this.context.onTrouble);
  }

  /** Ends leases that ran out and messages whose time is over: needs no relay, so it goes on without one. */
  private async keepHouse(): Promise<void> {
    let agedAt = Number.NEGATIVE_INFINITY;
    while (!this.stopping.signal.aborted) {
      try {
        if (await this.context.sendGate.ask()) await this.endLeases();
        const now = this.context.clock.monotonicMs();
        const isTime = this.agedAfter !== "" || now - agedAt >= AGED_MS;
        if (this.context.sendGate.isOpen && isTime) {
          agedAt = now;
          await this.endAged();
        }
      } catch (error) {
        this.context.onTrouble(error, "");
      }
      await this.housekeepingSleep.sleep(HOUSEKEEPING_MS_MIN);
      if (!this.isHouseStale) await this.housekeepingSleep.sleep(HOUSEKEEPING_MS, { wakeable: true });
      this.isHouseStale = false;
    }
  }

  private endLeases(): Promise<void> {
    const { store, policy } = this.context;
    const leased = this.readDue((db) => leasedEmails(db, HOUSEKEEPING_MAX)) ?? [];
    return this.forEach(this.leases.expired(leased), async ({ id, attempt }) => {
      // What our own workers are at has not been lost.
      if (this.scheduler.isInFlight(id)) return;
      const { state } = await readEmailHistory(store, id);
      if (state === null) return;
      const workspace = await this.options.deps.workspaces.get(state.workspaceId);
      const moment = momentOf(this.context, state, workspace);
      await expireEmailLease(store, id, attempt, {
        policy,
        moment,
        context: commandContextOf(this.context, state),
      });
    });
  }

  /** Looks at the oldest messages of so many workspaces, each for as long as its own: all have their turn. */
  private async endAged(): Promise<void> {
    let left = HOUSEKEEPING_MAX;
    for (let looked = 0; looked < AGED_WORKSPACES_MAX && left > 0; looked += 1) {
      const next = this.readDue((db) => nextWorkspaceByAge(db, this.agedAfter));
      this.agedAfter = next?.workspaceId ?? "";
      if (next === null) return;
      left -= await this.endAgedOf(next);
    }
  }

  /** Answers how many messages it has looked at. */
  private async endAgedOf({ workspaceId, acceptedAt }: WaitingWorkspace): Promise<number> {
    const { store, policy, clock } = this.context;
    const acceptedBefore = clock.now() - policy.lifetimeMs;
    if (acceptedAt > acceptedBefore) return 0;
    const workspace = await this.options.deps.workspaces.get(workspaceId);
    if (workspace?.paused) return 0;
    const limit = AGED_OF_WORKSPACE_MAX + [...this.backoff.busy()].length;
    const aged = this.readDue((db) => agedEmailsOf(db, workspaceId, acceptedBefore, limit)) ?? [];
    await this.forEach(aged, async (due) => {
      const story = await readEmailHistory(store, due.id);
      const moment = momentOf(this.context, story.state, workspace);
      if (nextAction(story.state, moment, policy).kind !== "expire") return;
      await expireEmail(store, { id: due.id, ...story }, commandContextOf(this.context, due));
    });
    return aged.length;
  }

  /** A message that cannot be read must not keep the others waiting; a store that is away ends the round. */
  private async forEach<Item extends { readonly id: string }>(
    items: readonly Item[],
    act: (item: Item) => Promise<void>,
  ): Promise<void> {
    const resting = new Set(this.backoff.busy());
    for (const item of items) {
      if (resting.has(item.id)) continue;
      try {
        await act(item);
      } catch (error) {
        if (error instanceof StoreError) throw error;
        this.backoff.failed(item.id);
        this.context.onTrouble(error, item.id);
      }
    }
  }
}
