import type { LogBatch, Position } from "../../ports/eventStore.ts";
import { commitDue, createFeed, type Feed } from "../applyEvents.ts";
import type { FollowedGeneration } from "./followedGeneration.ts";

/** The generations that share one position of the log, fed by a single subscription. */
export class SharedSubscription {
  private live: readonly FollowedGeneration[] = [];
  private feed: Feed = () => {};
  private uncommitted = 0;
  private hasWatchedEvent = false;
  private rest: Promise<void> | undefined;

  /** `watchedTypes`: as for the follower. */
  constructor(
    private reached: Position,
    private readonly watchedTypes: readonly string[],
  ) {}

  get generations(): readonly FollowedGeneration[] {
    return this.live;
  }

  /** All generations have been fed up to here. */
  get position(): Position {
    return this.reached;
  }

  get uncommittedEvents(): number {
    return this.uncommitted;
  }

  /** Applies a batch of the subscription; waits first while a rest lasts. */
  async apply(batch: LogBatch): Promise<void> {
    while (this.rest) await this.rest;
    this.feed(batch);
    this.reached = batch.position;
    this.uncommitted += batch.events.length;
    this.hasWatchedEvent ||= batch.events.some(({ type }) => this.watchedTypes.includes(type));
  }

  /** Whether an event of a watched type was applied since the last call. */
  takeWatchedEvent(): boolean {
    const { hasWatchedEvent } = this;
    this.hasWatchedEvent = false;
    return hasWatchedEvent;
  }

  /** Runs `work` while the position stays where it is. */
  async restDuring(work: () => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.rest = promise;
    try {
      await work();
    } finally {
      this.rest = undefined;
      resolve();
    }
  }

  /** Commits what is due. Removes and returns the generations that have failed. */
  commit(): readonly FollowedGeneration[] {
    this.uncommitted = 0;
    for (const { applier } of this.live) commitDue(applier);
    const failed = this.live.filter(({ applier }) => applier.failure);
    if (failed.length > 0) this.set(this.live.filter(({ applier }) => !applier.failure));
    return failed;
  }

  add(generation: FollowedGeneration): void {
    this.set([...this.live, generation]);
  }

  remove(generation: FollowedGeneration): void {
    this.set(this.live.filter((other) => other !== generation));
  }

  private set(generations: readonly FollowedGeneration[]): void {
    this.live = generations;
    this.feed = createFeed(generations.map(({ applier }) => applier));
  }
}
