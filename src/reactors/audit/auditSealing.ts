import type { LogSealer } from "../../commands/audit/auditSealer.ts";
import type { StandingCache } from "../../commands/instance/instanceStatusCache.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";
import { pauses } from "../worker/abortableSleep.ts";

export interface LogSealingOptions {
  readonly sealer: LogSealer;
  readonly standing: StandingCache;
  readonly clock: Clock;
  /** An event is sealed so long after it was first seen, at the latest. A full seal does not wait. */
  readonly intervalMs: number;
  /** In [0, 1). */
  readonly random: () => number;
  readonly onTrouble: (error: unknown) => void;
}

/** How often it reads on. */
const LOOK_MS = 5 * SECOND_MS;
/** It rests so many times as long as it has worked: under load sealing falls behind rather than slow others down. */
const REST_FACTOR = 4;
const REST_MS_MAX = SECOND_MS;

/** Seals the log from time to time, for as long as the service runs. Every instance does: the first one wins. */
export class LogSealing {
  private readonly stopping = new AbortController();
  private readonly pauses = pauses(this.stopping.signal);
  private running: Promise<void> = Promise.resolve();
  /** Since when there is something to seal behind the seal of `lastRevision`; on the monotonic clock. */
  private waitsSince: number | null = null;
  private lastRevision: number | null = null;

  constructor(private readonly options: LogSealingOptions) {}

  start(): void {
    this.running = this.run();
  }

  /** Settles after the batch that it is at. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { intervalMs, random, onTrouble } = this.options;
    const lookMs = Math.min(LOOK_MS, intervalMs);
    // Instances that start together shall not seal together.
    await this.pauses.pause(lookMs * random());
    while (!this.stopping.signal.aborted) {
      try {
        await this.look();
      } catch (error) {
        if (!this.stopping.signal.aborted) onTrouble(error);
      }
      await this.pauses.pause(lookMs);
    }
  }

  private async look(): Promise<void> {
    const { sealer, standing, clock, intervalMs } = this.options;
    // A log that goes on elsewhere takes nothing any more.
    if (typeof (await standing.get()).instance?.frozenAt === "number") return;
    let since = performance.now();
    await sealer.readOn(async () => {
      const restMs = Math.min(REST_MS_MAX, REST_FACTOR * (performance.now() - since));
      await this.pauses.pause(restMs);
      this.stopping.signal.throwIfAborted();
      since = performance.now();
    });
    const now = clock.monotonicMs();
    const isAnotherChain = sealer.last.revision !== this.lastRevision;
    this.lastRevision = sealer.last.revision;
    if (sealer.waiting === 0) this.waitsSince = null;
    else if (this.waitsSince === null || isAnotherChain) this.waitsSince = now;
    if (this.waitsSince !== null && now - this.waitsSince >= intervalMs) await sealer.seal();
  }
}
