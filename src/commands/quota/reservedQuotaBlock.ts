import { emailStream } from "../../domain/email/events.ts";
import { type QuotaReservation, reserveBlock, returnUnused } from "../../domain/quota/decisions.ts";
import { type QuotaEvent, quotaCodec } from "../../domain/quota/events.ts";
import { HELD_FOR_MAX, type Quota, quotaDecider } from "../../domain/quota/state.ts";
import type { Decision } from "../../kernel/event/decider.ts";
import type { Clock } from "../../ports/clock.ts";
import { type EventStore, StoreError } from "../../ports/eventStore.ts";
import { ConflictRetry } from "../conflictRetry.ts";
import { type Loaded, toNewEvents } from "../transact.ts";

/** How long "none left" is believed without a look at the log: a workspace at its limit must not read it each time. */
const NONE_LEFT_MS = 900;

/** After these waits a message is looked for that another instance may be about to accept. */
const LOOKS_MS = [20, 40, 80, 160];
/** Requests that do so at once; the others are refused right away. */
const LOOKING_MAX = 32;
const NOT_EXHAUSTED = { limit: -1, until: 0 };

export interface ReservedQuotaBlockOptions {
  readonly store: EventStore;
  readonly clock: Clock;
  /** The stream of this workspace and day. */
  readonly stream: string;
  readonly workspaceId: string;
  readonly instance: string;
}

/**
 * What this instance has in hand of one workspace's day. All of it is reserved in the log, so whatever happens
 * here, all instances together never use more than the limit.
 */
export class ReservedQuotaBlock {
  private left = 0;
  /** The limit that was in force when the block was taken in hand; what came back without one is not trusted. */
  private limit = Number.POSITIVE_INFINITY;
  private exhausted = NOT_EXHAUSTED;
  /** The day as the log had it when this instance last looked or wrote. */
  private known: Loaded<Quota> | null = null;
  /** The one reservation or return under way: whoever needs another waits for it first. */
  private working: Promise<unknown> | null = null;
  private touchedAt: number;
  /** Requests that look for their message. */
  private looking = 0;

  constructor(private readonly options: ReservedQuotaBlockOptions) {
    this.touchedAt = options.clock.monotonicMs();
  }

  /** Takes one for `messageId` and says whether it is for that message alone; null when none is left. Throws `StoreError`. */
  async take(limit: number, messageId: string): Promise<boolean | null> {
    this.touchedAt = this.options.clock.monotonicMs();
    for (;;) {
      if (this.left > 0 && limit >= this.limit) {
        this.left -= 1;
        return false;
      }
      if (this.isKnownToBeExhausted(limit) && !this.isHeldFor(messageId)) return this.none(messageId);
      if (this.working !== null) {
        await this.working;
        continue;
      }
      const taken = await this.alone(() => this.refill(limit, messageId));
      if (taken !== "block") return taken === "single" ? true : this.none(messageId);
    }
  }

  /** Gives back one that was not used: one of a block is kept in hand, a message's own goes to the log at once. */
  async returnUnit(messageId: string | null): Promise<void> {
    this.touchedAt = this.options.clock.monotonicMs();
    if (messageId === null) this.left += 1;
    else await this.returnSingle(messageId);
  }

  /** Returns what is in hand to the log, for other instances. Throws `StoreError`. */
  async release(): Promise<void> {
    // Whoever was at work already may have left something else in hand.
    while (this.left > 0) await this.inOrder(() => this.returnLeft());
  }

  /** Messages of the day that are used, as far as this instance knows of its own; others' blocks count whole. */
  async used(): Promise<number> {
    return this.inOrder(async () => (await this.load()).state.reserved - this.left);
  }

  isIdleSince(time: number): boolean {
    return this.touchedAt <= time && this.working === null;
  }

  get isEmpty(): boolean {
    return this.left === 0;
  }

  /**
   * None is left here. Another instance may take one for this very message from a block that it has, which no event
   * tells: then the message is there in a moment, and whoever asked is to find it.
   */
  private async none(messageId: string): Promise<null> {
    const { instance } = this.options;
    const others = this.known?.state.withBlock.filter((one) => one !== instance) ?? [];
    if (others.length === 0 || this.looking >= LOOKING_MAX) return null;
    this.looking += 1;
    try {
      for (const waitMs of LOOKS_MS) {
        await Bun.sleep(waitMs);
        if (await this.isAccepted(messageId)) break;
      }
    } finally {
      this.looking -= 1;
    }
    return null;
  }

  private isKnownToBeExhausted(limit: number): boolean {
    return this.exhausted.limit === limit && this.options.clock.monotonicMs() < this.exhausted.until;
  }

  /** Whether one of the day's messages was taken for this one, here or elsewhere, as far as is known. */
  private isHeldFor(messageId: string): boolean {
    return this.known?.state.heldFor.includes(messageId) ?? false;
  }

  /** Only when nobody else is at work. */
  private alone<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = work().finally(() => {
      this.working = null;
    });
    this.working = result;
    return result;
  }

  private async inOrder<Result>(work: () => Promise<Result>): Promise<Result> {
    while (this.working !== null) await this.working.catch(() => {});
    return this.alone(work);
  }

  private async refill(limit: number, messageId: string): Promise<QuotaReservation["kind"]> {
    // Left over under a higher limit: it goes back first, so that the log decides under the limit of now.
    await this.returnLeft();
    const { instance } = this.options;
    // A retry of what was accepted needs none.
    if (this.isHeldFor(messageId) && (await this.isAccepted(messageId))) return "none";
    const taken = await this.decide((quota) => reserveBlock(quota, { limit, instance, messageId }));
    if (taken.kind === "none") {
      this.exhausted = { limit, until: this.options.clock.monotonicMs() + NONE_LEFT_MS };
    } else if (taken.kind === "block") {
      this.left += taken.count;
      this.limit = limit;
    }
    return taken.kind;
  }

  private async isAccepted(messageId: string): Promise<boolean> {
    return (await this.options.store.lastRevision(emailStream(messageId))) !== null;
  }

  private async returnSingle(messageId: string): Promise<void> {
    const { instance } = this.options;
    try {
      await this.inOrder(() =>
        this.decide((quota) => returnUnused(quota, { count: 1, instance, messageId })),
      );
      this.exhausted = NOT_EXHAUSTED;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (error.failure === "unavailable") this.left += 1;
    }
  }

  private async returnLeft(): Promise<void> {
    const count = this.left;
    if (count === 0) return;
    this.left = 0;
    try {
      const { instance } = this.options;
      await this.decide((quota) => returnUnused(quota, { count, instance }));
    } catch (error) {
      // Where the outcome is unknown they may be another instance's by now.
      if (error instanceof StoreError && error.failure === "unavailable") this.left += count;
      throw error;
    }
  }

  /** As `transact` does, from what is known. What gives no events is decided on a fresh look at the log. */
  private async decide<Outcome>(decision: (quota: Quota) => Decision<Outcome, QuotaEvent>): Promise<Outcome> {
    const { store, clock, stream, workspaceId, instance } = this.options;
    let isFresh = this.known === null;
    const retry = new ConflictRetry(stream);
    for (;;) {
      const known = this.known ?? (await this.load());
      const { outcome, events } = decision(known.state);
      if (events.length === 0) {
        this.known = known;
        if (isFresh) return outcome;
        this.known = null;
        isFresh = true;
        continue;
      }
      const context = { at: clock.now(), correlationId: instance, actor: "system", workspaceId };
      const result = await store.append(stream, toNewEvents(events, context), known.revision ?? "noStream");
      if (result.outcome === "appended") {
        const state = events.reduce(quotaDecider.evolve, known.state);
        this.known = { state, revision: result.revision };
        return outcome;
      }
      await retry.lost();
      this.known = null;
      isFresh = true;
    }
  }

  private async load(): Promise<Loaded<Quota>> {
    const last = await this.options.store.lastRevision(this.options.stream);
    return last === null ? { state: quotaDecider.initialState, revision: null } : this.loadAt(last);
  }

  /** Every event carries the sum of all before it; the last few say for which messages some are held. */
  private async loadAt(revision: number): Promise<Loaded<Quota>> {
    const from = Math.max(0, revision + 1 - HELD_FOR_MAX);
    const events = await this.options.store.read(this.options.stream, from, HELD_FOR_MAX);
    const last = events.at(-1);
    if (last === undefined) throw new StoreError("unavailable", "the day's quota cannot be read yet");
    const quota = events
      .map((event) => quotaCodec.decode(event))
      .reduce(quotaDecider.evolve, quotaDecider.initialState);
    return { state: quota, revision: last.revision };
  }
}
