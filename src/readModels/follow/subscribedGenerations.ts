import type { LogBatch, Position } from "../../ports/eventStore.ts";
import { commitDue, type Feed, makeFeed } from "../applyEvents.ts";
import type { FollowedGeneration } from "./followedGeneration.ts";

/** The generations that share one position of the log, fed by a single subscription. */
export class SubscribedGenerations {
  #generations: readonly FollowedGeneration[] = [];
  #feed: Feed = () => {};
  #position: Position;
  #uncommittedEvents = 0;
  #rest: Promise<void> | undefined;

  constructor(position: Position) {
    this.#position = position;
  }

  get generations(): readonly FollowedGeneration[] {
    return this.#generations;
  }

  /** All generations have been fed up to here. */
  get position(): Position {
    return this.#position;
  }

  get uncommittedEvents(): number {
    return this.#uncommittedEvents;
  }

  /** Applies a batch of the subscription; waits first while a rest lasts. */
  async apply(batch: LogBatch): Promise<void> {
    while (this.#rest) await this.#rest;
    this.#feed(batch);
    this.#position = batch.position;
    this.#uncommittedEvents += batch.events.length;
  }

  /** Runs `work` while the position stays where it is. */
  async restDuring(work: () => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#rest = promise;
    try {
      await work();
    } finally {
      this.#rest = undefined;
      resolve();
    }
  }

  /** Commits what is due. Removes and returns the generations that have failed. */
  commit(): readonly FollowedGeneration[] {
    this.#uncommittedEvents = 0;
    for (const { applier } of this.#generations) commitDue(applier);
    const failed = this.#generations.filter(({ applier }) => applier.failure);
    if (failed.length > 0) this.#set(this.#generations.filter(({ applier }) => !applier.failure));
    return failed;
  }

  add(generation: FollowedGeneration): void {
    this.#set([...this.#generations, generation]);
  }

  remove(generation: FollowedGeneration): void {
    this.#set(this.#generations.filter((other) => other !== generation));
  }

  #set(generations: readonly FollowedGeneration[]): void {
    this.#generations = generations;
    this.#feed = makeFeed(generations.map(({ applier }) => applier));
  }
}
