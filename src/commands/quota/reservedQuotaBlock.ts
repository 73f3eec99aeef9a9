import { emailStream } from "../../domain/email/events.ts";
import { type QuotaReservation, reserveBlock, returnUnused } from "../../domain/quota/decisions.ts";
import { type QuotaEvent, quotaCodec } from "../../domain/quota/events.ts";
import { HELD_FOR_MAX, type Quota, quotaDecider } from "../../domain/quota/state.ts";
import type { Decision } from "../../kernel/event/decider.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";
import { type EventStore, StoreError } from "../../ports/eventStore.ts";
import { ConflictRetry } from "../conflictRetry.ts";
import { type Loaded, toNewEvents } from "../transact.ts";

/** After this long without use, a block goes back to the log. */
export const BLOCK_IDLE_MS = 30 * SECOND_MS;

/** How long "none left" is trusted without reading the log: a workspace at its limit must not read it for each send. */
const NONE_LEFT_MS = 900;

/** The waits before each look for a message that another instance may be about to accept. */
const LOOKS_MS = [20, 40, 80, 160];
/** Requests that may wait like this at the same time; the others are refused right away. */
const LOOKING_MAX = 32;
const NOT_EXHAUSTED = { limit: -1, until: 0 };

interface ReservedQuotaBlockOptions {
  readonly store: EventStore;
  readonly clock: Clock;
  /** The stream of this workspace and day. */
  readonly stream: string;
  readonly workspaceId: string;
  readonly instance: string;
  /** Called each time this instance has asked the log for units, with what all instances have reserved. */
  readonly onReserved: (reserved: number, limit: number) => void;
}

/**
 * This instance's reserve of one workspace's daily limit. All of it is reserved in the log, so whatever happens here, all
 * instances together never use more than the limit.
 */
export class ReservedQuotaBlock {
  private left = 0;
  /** The limit in force when the block was reserved. Without one, returned units go back to the log before use. */
  private limit = Number.POSITIVE_INFINITY;
  private exhausted = NOT_EXHAUSTED;
  /** The day as the log had it when this instance last looked or wrote. */
  private known: Loaded<Quota> | null = null;
  /** The one reservation or return in flight: the next one waits for it. */
  private working: Promise<unknown> | null = null;
  private touchedAt: number;
  /** Requests that are looking for their message. */
  private looking = 0;

  constructor(private readonly options: ReservedQuotaBlockOptions) {
    this.touchedAt = options.clock.monotonicMs();
  }

  /** Takes one for `messageId`; true if only that message may use it, null if none is left. Throws `StoreError`. */
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

  /** Returns an unused one: a unit of a block stays in reserve, a message's own goes back to the log at once. */
  async returnUnit(messageId: string | null): Promise<void> {
    this.touchedAt = this.options.clock.monotonicMs();
    if (messageId === null) this.left += 1;
    else await this.returnSingle(messageId);
  }

  /** Returns the reserve to the log, for other instances. Throws `StoreError`. */
  async release(): Promise<void> {
    // Work that was already in flight may add to the reserve, or be returning it.
    do await this.inOrder(() => this.returnLeft());
    while (this.left > 0);
  }

  /**
   * Messages used on this day: without this instance's reserve, but with the whole blocks of others. Throws `StoreError`.
   * A fault of this read fails no message that waits for its turn.
   */
  async used(): Promise<number> {
    const read = async () => (await this.load()).state.reserved - this.left;
    const [used] = await this.inOrder(() => Promise.allSettled([read()]));
    if (used.status === "rejected") throw used.reason;
    return used.value;
  }

  isIdleSince(time: number): boolean {
    return this.touchedAt <= time && this.working === null;
  }

  get isEmpty(): boolean {
    return this.left === 0;
  }

  /**
   * None is left here. But another instance may be accepting this very message with a unit of its block, which no event
   * shows. The message then exists in a moment, so wait for it: the caller looks for it next.
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

  /** Whether a unit is known to be taken for this message, here or on another instance. */
  private isHeldFor(messageId: string): boolean {
    return this.known?.state.heldFor.includes(messageId) ?? false;
  }

  /** Runs `work`. Call it only if no other work is in flight. */
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
    // What is left was reserved under a higher limit. It goes back first, so the log decides under the current one.
    await this.returnLeft();
    const { instance } = this.options;
    // The retry of an accepted message needs none.
    if (this.isHeldFor(messageId) && (await this.isAccepted(messageId))) return "none";
    const taken = await this.decide((quota) => reserveBlock(quota, { limit, instance, messageId }));
    if (taken.kind === "none") {
      this.exhausted = { limit, until: this.options.clock.monotonicMs() + NONE_LEFT_MS };
    } else if (taken.kind === "block") {
      this.left += taken.count;
      this.limit = limit;
    }
    if (this.known !== null) this.options.onReserved(this.known.state.reserved, limit);
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
      // If the outcome is unknown, another instance may already have them.
      if (error instanceof StoreError && error.failure === "unavailable") this.left += count;
      throw error;
    }
  }

  /** Like `transact`, from the known state. A decision without events counts only after a fresh read of the log. */
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

  /** Every event carries the sum of all before it; the last few name the messages for which units are held. */
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
