import { LRUCache } from "lru-cache";
import { agedEmails, type DueEmail, leasedEmails, nextReadyAt, readyEmails } from "../../projections/due.ts";
import { readStory } from "../commands/readEmail.ts";
import { expireEmail, expireEmailLease } from "../commands/recordMailAttempt.ts";
import type { Services } from "../commands/services.ts";
import type { DeliveryPolicy } from "../domain/email/decisions.ts";
import { nextAction } from "../domain/email/nextAction.ts";
import { authorityOf } from "../domain/sender/state.ts";
import { StoreError } from "../ports/eventStore.ts";
import type { MailTransport } from "../ports/mailTransport.ts";
import { type ReadDatabase, ReadDatabaseError } from "../ports/readDatabase.ts";
import {
  type DeliveryContext,
  type DeliveryReport,
  emailDelivery,
  momentOf,
  occasionOf,
} from "./mail/deliverEmail.ts";
import { LeaseWatch } from "./mail/leaseWatch.ts";
import { RelayBreaker, type RelayPass } from "./mail/relayBreaker.ts";

export interface MailDeliveryOptions {
  readonly services: Services;
  readonly transport: MailTransport;
  /** The read model `due`. */
  readonly due: ReadDatabase;
  readonly policy: DeliveryPolicy;
  /** See {@link DeliveryContext.readSpacingMs}. */
  readonly readSpacingMs: number;
  readonly worker: string;
  /** In [0, 1). */
  readonly random: () => number;
  readonly onTrouble: DeliveryContext["onTrouble"];
}

/** Due messages that are looked at in one go, and picked from at random, so that instances seldom collide. */
const CANDIDATES_MAX = 512;
/** Claims and aged messages that one round of housekeeping looks at. */
const HOUSEKEEPING_MAX = 1_000;
/** Leases are looked at this often; a claim is given up at most this late. */
const HOUSEKEEPING_MS = 250;
/** News of the read model bring a look forward, but not more often than this. */
const HOUSEKEEPING_MS_MIN = 25;
/** Messages whose time may be over are looked for this often. */
const AGED_MS = 5_000;
/** How long a paused workspace or an unavailable sender is left alone. */
const HOLD_MS = 1_000;
/** How long a worker rests after a fault of the store. */
const FAULT_REST_MS = 250;
const HANDLED_MAX = 50_000;

/**
 * Delivers what is due: as many workers as the transport has sessions, each claiming one message at a time.
 * The read model says where to look; the claim decides.
 */
export class MailDelivery {
  private readonly context: DeliveryContext;
  private readonly deliver: ReturnType<typeof emailDelivery>;
  private readonly breaker: RelayBreaker;
  private readonly leases: LeaseWatch;
  private readonly stopping = new AbortController();
  private readonly abandoned = new AbortController();
  private readonly inFlight = new Set<string>();
  /** Messages in flight that the read model showed as due meanwhile, at a revision that is news. */
  private readonly passedOver = new Set<string>();
  /** The newest revision that was acted on, by message: the read model may still show an older one. */
  private readonly handled = new LRUCache<string, number>({ max: HANDLED_MAX });
  /** Workspaces and senders that are left alone until this time. */
  private readonly held = new Map<string, number>();
  /** Idle workers, and housekeeping between two rounds: what wakes them. */
  private readonly sleepers = new Set<() => void>();
  private readonly keepers = new Set<() => void>();
  private candidates: DueEmail[] = [];
  private isStale = true;
  private isHouseStale = false;
  /** When the next message becomes ready that was not so at the last look. */
  private nextDueAt = 0;
  private running: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: MailDeliveryOptions) {
    const { services, policy, worker, random, transport, onTrouble } = options;
    const { store, content, clock, recent, suppressions } = services;
    const stopping = this.stopping.signal;
    const abandoned = this.abandoned.signal;
    this.context = {
      store,
      content,
      clock,
      recent,
      suppressions,
      readSpacingMs: options.readSpacingMs,
      policy,
      worker,
      random,
      stopping,
      abandoned,
      onTrouble,
      transport: transport.name,
    };
    this.deliver = emailDelivery(this.context);
    this.breaker = new RelayBreaker(clock);
    this.leases = new LeaseWatch(clock);
  }

  /** What keeps the relay from taking mail; null while nothing does. */
  get relayTrouble(): string | null {
    return this.breaker.trouble;
  }

  start(): void {
    const workers = Array.from({ length: this.options.transport.sessionsMax }, () => this.work());
    this.running = Promise.all([...workers, this.keepHouse()]);
  }

  /** The read model has moved: wakes housekeeping, and as many idle workers as there is work for. */
  wake(): void {
    this.isStale = true;
    this.isHouseStale = true;
    for (const keeper of [...this.keepers]) keeper();
    if (this.sleepers.size === 0) return;
    if (this.candidates.length === 0) this.refill();
    for (const sleeper of [...this.sleepers].slice(0, this.candidates.length)) sleeper();
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

  private async work(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      const pass = this.hasRoom() ? this.breaker.enter() : null;
      const due = pass && this.take();
      if (pass && due) await this.workOn(due, pass);
      else {
        pass?.leave();
        await this.untilWork();
      }
    }
  }

  private async workOn(due: DueEmail, pass: RelayPass): Promise<void> {
    this.inFlight.add(due.id);
    try {
      await this.handle(due, pass);
    } catch (error) {
      pass.leave();
      this.context.onTrouble(error, due.id);
      await this.pause(FAULT_REST_MS);
    } finally {
      pass.leave();
      this.inFlight.delete(due.id);
      // Still due and nobody's, or due again before we were done: no news of the read model would make us look.
      if (this.passedOver.delete(due.id) || !this.isHandled(due)) this.isStale = true;
    }
  }

  /** Below half of the disk's minimum no claim is made: outcomes must still find room. */
  private hasRoom(): boolean {
    const { disk, diskFreeBytesMin } = this.options.services;
    return disk.freeBytes() >= diskFreeBytesMin / 2;
  }

  private async handle(due: DueEmail, pass: RelayPass): Promise<void> {
    const { workspaces, senders } = this.options.services;
    const [workspace, sender, domain] = await Promise.all([
      workspaces.get(due.workspaceId),
      senders.get(due.senderId),
      due.authorityId === due.senderId ? null : senders.get(due.authorityId),
    ]);
    if (workspace?.paused || authorityOf(sender, domain) === null) {
      const holder = sender?.disabled ? due.senderId : due.authorityId;
      const until = this.context.clock.monotonicMs() + HOLD_MS;
      this.held.set(workspace?.paused ? due.workspaceId : holder, until);
      return;
    }
    const opened = await this.options.transport.session(this.stopping.signal);
    if (opened.kind === "broken") {
      if (!this.stopping.signal.aborted) pass.fault(opened.reason);
      return;
    }
    try {
      this.learn(due, pass, await this.deliver(due, workspace, opened.session));
    } finally {
      opened.session.release();
    }
  }

  private learn(due: DueEmail, pass: RelayPass, report: DeliveryReport): void {
    if (report.kind === "notYet") return;
    this.handled.set(due.id, report.claimRevision ?? due.revision);
    if (report.kind === "notAttempted") return;
    if (report.relayFault === null) pass.success();
    else pass.fault(report.relayFault);
  }

  private isHandled({ id, revision }: DueEmail): boolean {
    return (this.handled.get(id) ?? -1) >= revision;
  }

  /** A due message that nobody here is at; null when the read model shows none. */
  private take(): DueEmail | null {
    if (this.candidates.length === 0 && this.isStale) this.refill();
    for (;;) {
      const due = this.candidates.pop();
      if (due === undefined) return null;
      if (this.isHandled(due)) continue;
      if (!this.inFlight.has(due.id)) return due;
      this.passedOver.add(due.id);
    }
  }

  private refill(): void {
    const now = this.context.clock.now();
    const monotonic = this.context.clock.monotonicMs();
    for (const [holder, until] of this.held) if (until <= monotonic) this.held.delete(holder);
    const rows = this.readDue((db) => readyEmails(db, now, [...this.held.keys()], CANDIDATES_MAX));
    const [nextAt = null] = this.readDue((db) => [nextReadyAt(db, now)]);
    this.nextDueAt = nextAt ?? Number.POSITIVE_INFINITY;
    this.isStale = rows.length === CANDIDATES_MAX || this.held.size > 0;
    this.candidates = shuffled(rows, this.context.random);
  }

  /** Sleeps until there is work, until something becomes due, or for a moment. */
  private async untilWork(): Promise<void> {
    const dueInMs = Math.max(1, this.nextDueAt - this.context.clock.now());
    await this.pause(Math.min(dueInMs, HOUSEKEEPING_MS), this.sleepers);
    if (this.nextDueAt <= this.context.clock.now()) this.isStale = true;
  }

  /** Sleeps for `timeMs`; less when the service stops, or when what it leaves in `sleepers` is called. */
  private pause(timeMs: number, sleepers?: Set<() => void>): Promise<void> {
    const { signal } = this.stopping;
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        sleepers?.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, timeMs);
      sleepers?.add(done);
      signal.addEventListener("abort", done);
    });
  }

  /** Rows of the read model; none while it cannot be read or is damaged: its follower sees to that. */
  private readDue<Row>(query: (db: ReadDatabase) => readonly Row[]): readonly Row[] {
    try {
      return query(this.options.due);
    } catch (error) {
      if (!(error instanceof ReadDatabaseError)) throw error;
      if (error.failure !== "unavailable") this.context.onTrouble(error, "");
      return [];
    }
  }

  /** Ends leases that ran out and messages whose time is over: needs no relay, so it goes on without one. */
  private async keepHouse(): Promise<void> {
    let agedAt = Number.NEGATIVE_INFINITY;
    while (!this.stopping.signal.aborted) {
      try {
        await this.endLeases();
        const now = this.context.clock.monotonicMs();
        if (now - agedAt >= AGED_MS) {
          agedAt = now;
          await this.endAged();
        }
      } catch (error) {
        this.context.onTrouble(error, "");
      }
      await this.pause(HOUSEKEEPING_MS_MIN);
      if (!this.isHouseStale) await this.pause(HOUSEKEEPING_MS, this.keepers);
      this.isHouseStale = false;
    }
  }

  private endLeases(): Promise<void> {
    const { store, policy } = this.context;
    const leased = this.readDue((db) => leasedEmails(db, HOUSEKEEPING_MAX));
    return this.forEach(this.leases.expired(leased), async ({ id, attempt }) => {
      // What our own workers are at has not been lost.
      if (this.inFlight.has(id)) return;
      const { state } = await readStory(store, id);
      if (state === null) return;
      const workspace = await this.options.services.workspaces.get(state.workspaceId);
      const moment = momentOf(this.context, state, workspace);
      await expireEmailLease(store, id, attempt, {
        policy,
        moment,
        occasion: occasionOf(this.context, state),
      });
    });
  }

  private endAged(): Promise<void> {
    const { store, policy, clock } = this.context;
    const held = [...this.held.keys()];
    const aged = this.readDue((db) =>
      agedEmails(db, clock.now() - policy.lifetimeMs, held, HOUSEKEEPING_MAX),
    );
    return this.forEach(aged, async (due) => {
      const workspace = await this.options.services.workspaces.get(due.workspaceId);
      if (workspace?.paused) return;
      const story = await readStory(store, due.id);
      const moment = momentOf(this.context, story.state, workspace);
      if (nextAction(story.state, moment, policy).kind !== "expire") return;
      await expireEmail(store, { id: due.id, ...story }, occasionOf(this.context, due));
    });
  }

  /** A message that cannot be read must not keep the others waiting; a store that is away ends the round. */
  private async forEach<Item extends { readonly id: string }>(
    items: readonly Item[],
    act: (item: Item) => Promise<void>,
  ): Promise<void> {
    for (const item of items) {
      try {
        await act(item);
      } catch (error) {
        if (error instanceof StoreError) throw error;
        this.context.onTrouble(error, item.id);
      }
    }
  }
}

/** Fisher and Yates, with luck as data. */
function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  const result = [...items];
  for (let index = result.length - 1; index > 0; index -= 1) {
    const other = Math.floor(random() * (index + 1));
    [result[index], result[other]] = [result[other] as Item, result[index] as Item];
  }
  return result;
}
