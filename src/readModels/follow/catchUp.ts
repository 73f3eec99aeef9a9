import type { EventStore, Position } from "../../ports/eventStore.ts";
import { type Applier, feedToHead, TRANSACTION_EVENTS_MAX } from "../applyEvents.ts";
import type { FollowedGeneration } from "./followedGeneration.ts";

/** A round that is not at least this much shorter than the one before: the log won't be outrun. */
const SHRINKING = 0.8;

export interface CatchUpOptions {
  readonly store: EventStore;
  /** The position to reach, which moves on meanwhile. */
  readonly headPosition: () => Position;
  /** Told now and then how far one has come. */
  readonly onProgress: (generation: FollowedGeneration) => void;
  /** Told of each that failed and is no longer among those behind. */
  readonly onFailure: (generation: FollowedGeneration) => void;
  readonly signal: AbortSignal;
}

/** The generations that are behind those at the head, and the readings of the log that bring them forward. */
export class CatchUp {
  readonly #options: CatchUpOptions;
  #behind: FollowedGeneration[] = [];

  constructor(options: CatchUpOptions) {
    this.#options = options;
  }

  get generations(): readonly FollowedGeneration[] {
    return this.#behind;
  }

  add(generation: FollowedGeneration): void {
    this.#behind.push(generation);
  }

  /** Those behind, which are so no longer. */
  takeAll(): FollowedGeneration[] {
    return this.#behind.splice(0);
  }

  /** Rounds that get shorter, until the next one is short, or no shorter: events come as fast as they are applied. */
  async approachHead(): Promise<void> {
    let events = Infinity;
    for (let before = Infinity; events >= TRANSACTION_EVENTS_MAX; before = events) {
      events = await this.round();
      if (this.#options.signal.aborted || events > before * SHRINKING) return;
    }
  }

  /** Reads until all have come past the live position; the number of events. */
  async round(): Promise<number> {
    const { store, onProgress, onFailure, signal } = this.#options;
    let total = 0;
    const appliers = this.#behind.map(({ applier }) => applier);
    for await (const events of feedToHead(store, appliers)) {
      total += events;
      for (const generation of this.#behind) if (!generation.applier.failure) onProgress(generation);
      if (signal.aborted || appliers.every((applier) => this.#isDone(applier))) break;
    }
    const failed = this.#behind.filter(({ applier }) => applier.failure);
    this.#behind = this.#behind.filter(({ applier }) => !applier.failure);
    for (const generation of failed) onFailure(generation);
    return total;
  }

  #isDone({ failure, position }: Applier): boolean {
    return failure !== undefined || position >= this.#options.headPosition();
  }
}
