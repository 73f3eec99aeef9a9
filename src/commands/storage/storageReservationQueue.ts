import { LRUCache } from "lru-cache";
import { emailStream } from "../../domain/email/events.ts";
import { countStorage, type ReserveRequest, reserveStorage } from "../../domain/storage/decisions.ts";
import { type StorageEvent, storageCodec } from "../../domain/storage/events.ts";
import { openReservations, reservationOf, type Storage, storageDecider } from "../../domain/storage/state.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import type { Decision } from "../../kernel/event/decider.ts";
import { type EventStore, type NewEvent, StoreError } from "../../ports/eventStore.ts";
import { ConflictRetry } from "../conflictRetry.ts";
import { toNewEvents } from "../transact.ts";

/** Events of the stream that one read returns. */
const PAGE_EVENTS = 500;
/** Decisions that share one append. */
const BATCH_DECISIONS_MAX = 256;
/** The stream is counted again after this many events, plus one for every four owners. This bounds a start's reads. */
const COUNT_AFTER_EVENTS = 1_000;
const OWNERS_PER_EVENT = 4;
/** Holders in one event of a count, which take some 150 kB. */
const COUNTED_MAX = 1_000;

/** Messages whose racing requests are remembered: more than an account can begin during one request. */
const RACED_MESSAGES_MAX = 1_000;

/** The owner name of a request's direct files. Requests racing under one Idempotency-Key share the message's id. */
export function directFilesOwner(emailId: string, contentEventId: string): string {
  return `${emailStream(emailId)}/${contentEventId}`;
}

/** The stream of a reservation's owner, and the content event of a request's direct files; null for an upload. */
export function partsOfOwner(owner: string) {
  const [stream = "", contentEventId = null] = owner.split("/");
  return { stream, contentEventId };
}

/** The stream of the message that the direct files of `owner` belong to; null for an upload. */
function messageOf(owner: string): string | null {
  const { stream, contentEventId } = partsOfOwner(owner);
  return contentEventId === null ? null : stream;
}

type Decide = (state: Storage) => Decision<unknown, StorageEvent>;

/** A decision that waits for its turn. */
interface QueuedDecision {
  readonly decide: Decide;
  readonly context: CommandContext;
  resolve(outcome: unknown): void;
  reject(error: unknown): void;
}

/** The stream as last seen. `first`: the first readable revision. `revision`: the last; null if there is none. */
interface Known {
  readonly state: Storage;
  readonly first: number;
  readonly revision: number | null;
}

const NOTHING: Known = { state: storageDecider.initialState, first: 0, revision: null };

/**
 * The quota of one account on this instance. Decisions take turns, and those that wait together share one append, so
 * requests on one instance never race each other.
 */
export class StorageReservationQueue {
  private known: Known | null = null;
  private readonly waiting: QueuedDecision[] = [];
  /** By the stream of a message: the owners that recently reserved room for its direct files. */
  private readonly racers = new LRUCache<string, Set<string>>({ max: RACED_MESSAGES_MAX });
  private isRunning = false;
  private isCounting = false;
  /** The revision at which the stream is counted again. */
  private countAt = 0;

  constructor(
    private readonly store: EventStore,
    private readonly stream: string,
  ) {}

  /**
   * Reserves room, and says how much the account then uses. Does not count what requests that race for the same message
   * hold. Throws `StoreError`.
   */
  async reserve(
    request: Omit<ReserveRequest, "racingBytes">,
    context: CommandContext,
  ): Promise<{ readonly outcome: "reserved" | "exceeded"; readonly used: number }> {
    const outcome = await this.decide(
      (state) => reserveStorage(state, { ...request, racingBytes: this.racingBytes(state, request.owner) }),
      context,
    );
    return { outcome, used: (this.known ?? NOTHING).state.used };
  }

  /** Decides on the current state of the stream, and appends the events. Throws `StoreError`. */
  decide<Outcome>(
    decide: (state: Storage) => Decision<Outcome, StorageEvent>,
    context: CommandContext,
  ): Promise<Outcome> {
    return new Promise<Outcome>((resolve, reject) => {
      this.waiting.push({ decide, context, resolve: (outcome) => resolve(outcome as Outcome), reject });
      if (!this.isRunning) void this.run();
    });
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, BATCH_DECISIONS_MAX);
      try {
        const outcomes = await this.decideAll(batch);
        batch.forEach(({ resolve }, index) => {
          resolve(outcomes[index]);
        });
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.isRunning = false;
  }

  /** One outcome for each decision of the batch. Later ones see what earlier ones decided. */
  private async decideAll(batch: readonly QueuedDecision[]): Promise<readonly unknown[]> {
    let isFresh = false;
    const retry = new ConflictRetry(this.stream);
    for (;;) {
      const known = this.known ?? (await this.readOn(NOTHING));
      const { outcomes, decided, events, state } = decisionsOn(known.state, batch);
      if (events.length > 0) {
        const result = await this.store.append(this.stream, events, known.revision ?? "noStream");
        if (result.outcome === "appended") {
          this.known = { state, first: known.first, revision: result.revision };
          for (const event of decided) this.noteRacers(event);
          this.countWhenLong(batch[0]?.context);
          return outcomes;
        }
        await retry.lost();
      } else if (isFresh) return outcomes;
      // A won append proves that the state was current. A batch without events is decided again after a fresh read.
      this.known = await this.readOn(known);
      isFresh = true;
    }
  }

  private async readOn(known: Known): Promise<Known> {
    let { state, first, revision } = known;
    for (;;) {
      const page = await this.store.read(this.stream, (revision ?? -1) + 1, PAGE_EVENTS);
      for (const event of page) {
        // Another instance has counted and truncated events that we have not read. Its count replaces them.
        if (revision !== null && event.revision !== revision + 1) return this.readOn(NOTHING);
        if (revision === null) first = event.revision;
        const decoded = storageCodec.decode(event);
        this.noteRacers(decoded);
        state = storageDecider.evolve(state, decoded);
        revision = event.revision;
      }
      if (page.length < PAGE_EVENTS) return { state, first, revision };
    }
  }

  private noteRacers(event: StorageEvent): void {
    if (event.type === "StorageReserved") this.noteRacer(event.data.holder);
    else if (event.type === "StorageCounted")
      for (const { holder: owner } of event.data.open) this.noteRacer(owner);
  }

  private noteRacer(owner: string): void {
    const message = messageOf(owner);
    if (message === null) return;
    const racers = this.racers.get(message);
    if (racers === undefined) this.racers.set(message, new Set([owner]));
    else racers.add(owner);
  }

  /** The bytes reserved by other requests for the owner's message. */
  private racingBytes(state: Storage, owner: string): number {
    const message = messageOf(owner);
    const racers = message === null ? undefined : this.racers.get(message);
    let bytes = 0;
    for (const racer of racers ?? []) {
      const held = reservationOf(state, racer);
      if (held === undefined) racers?.delete(racer);
      else if (racer !== owner) bytes += held.bytes;
    }
    return bytes;
  }

  private countWhenLong(context: CommandContext | undefined): void {
    const { state, first, revision } = this.known ?? NOTHING;
    if (context === undefined || revision === null || this.isCounting || revision < this.countAt) return;
    const enough = COUNT_AFTER_EVENTS + (state.settled.size + state.recent.size) / OWNERS_PER_EVENT;
    if (revision - first < enough) return;
    this.isCounting = true;
    this.countAt = revision + COUNT_AFTER_EVENTS;
    void this.count({ ...context, actor: "system" }, { state, revision }).finally(() => {
      this.isCounting = false;
    });
  }

  /** Writes everything held once more and truncates what came before, so the stream does not grow for ever. */
  private async count(
    context: CommandContext,
    { state, revision }: { readonly state: Storage; readonly revision: number },
  ): Promise<void> {
    const owners = [...openReservations(state)].map(([owner]) => owner);
    try {
      for (let from = 0; from < owners.length || from === 0; from += COUNTED_MAX) {
        const some = owners.slice(from, from + COUNTED_MAX);
        const before = from + COUNTED_MAX < owners.length ? undefined : revision + 1;
        await this.decide((now) => countStorage(now, some, before), context);
      }
      await this.store.truncateBefore(this.stream, revision + 1);
      if (this.known !== null) this.known = { ...this.known, first: revision + 1 };
    } catch (error) {
      // The stream stays long until the next count.
      if (!(error instanceof StoreError)) throw error;
    }
  }
}

function decisionsOn(before: Storage, batch: readonly QueuedDecision[]) {
  const outcomes: unknown[] = [];
  const decided: StorageEvent[] = [];
  const events: NewEvent[] = [];
  let state = before;
  for (const { decide, context } of batch) {
    const decision = decide(state);
    outcomes.push(decision.outcome);
    state = decision.events.reduce(storageDecider.evolve, state);
    decided.push(...decision.events);
    events.push(...toNewEvents(decision.events, context));
  }
  return { outcomes, decided, events, state };
}
