import type { EventStore, Position } from "../../ports/eventStore.ts";
import { type Applier, feedToHead, TRANSACTION_EVENTS_MAX } from "../applyEvents.ts";
import type { FollowedGeneration } from "./followedGeneration.ts";

/** A round must shrink at least to this share of the one before; otherwise events come as fast as they are applied. */
const SHRINKING = 0.8;

interface CatchUpOptions {
  readonly store: EventStore;
  /** The position to reach. It keeps moving. */
  readonly headPosition: () => Position;
  /** Called now and then with each generation's progress. */
  readonly onProgress: (generation: FollowedGeneration) => void;
  /** Called for each generation that failed and no longer takes part. */
  readonly onFailure: (generation: FollowedGeneration) => void;
  readonly signal: AbortSignal;
}

/** Brings generations that lag behind to the live position, by reading the log. */
export class CatchUp {
  private behind: FollowedGeneration[] = [];

  constructor(private readonly options: CatchUpOptions) {}

  get generations(): readonly FollowedGeneration[] {
    return this.behind;
  }

  add(generation: FollowedGeneration): void {
    this.behind.push(generation);
  }

  /** Returns all its generations and forgets them. */
  takeAll(): FollowedGeneration[] {
    return this.behind.splice(0);
  }

  /** Runs rounds until the next one will be short, or rounds no longer shrink. */
  async approachHead(): Promise<void> {
    let events = Infinity;
    for (let before = Infinity; events >= TRANSACTION_EVENTS_MAX; before = events) {
      events = await this.round();
      if (this.options.signal.aborted || events > before * SHRINKING) return;
    }
  }

  /** Reads the log until all have reached the live position; returns the number of events. */
  async round(): Promise<number> {
    const { store, onProgress, onFailure, signal } = this.options;
    let total = 0;
    const appliers = this.behind.map(({ applier }) => applier);
    for await (const events of feedToHead(store, appliers)) {
      total += events;
      for (const generation of this.behind) if (!generation.applier.failure) onProgress(generation);
      if (signal.aborted || appliers.every((applier) => this.isDone(applier))) break;
    }
    const failed = this.behind.filter(({ applier }) => applier.failure);
    this.behind = this.behind.filter(({ applier }) => !applier.failure);
    for (const generation of failed) onFailure(generation);
    return total;
  }

  private isDone({ failure, position }: Applier): boolean {
    return failure !== undefined || position >= this.options.headPosition();
  }
}
