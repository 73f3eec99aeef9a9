import type { AuditSealer } from "../../commands/audit/auditSealer.ts";
import type { InstanceStatusCache } from "../../commands/instance/instanceStatusCache.ts";
import { epochMs, SECOND_MS } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";
import type { RecordedEvent } from "../../ports/eventStore.ts";
import { type PeriodicWorker, periodicWorker, type Round } from "../worker/periodicWorker.ts";

export interface AuditSealingOptions {
  readonly sealer: AuditSealer;
  readonly instanceStatus: Pick<InstanceStatusCache, "get">;
  readonly clock: Clock;
  /** An event is sealed so long after it was first seen, at the latest. A full seal does not wait for that. */
  readonly intervalMs: number;
  /** In [0, 1). */
  readonly random: () => number;
  readonly onTrouble: (error: unknown) => void;
}

/** How often it reads on. */
const POLL_INTERVAL_MS = 5 * SECOND_MS;
/**
 * It yields so many times as long as it has worked: under load sealing falls behind rather than slow others down. What
 * was not read for longer than the interval is `late`.
 */
const YIELD_FACTOR = { inTime: 19, late: 4 } as const;
const YIELD_MS_MAX = SECOND_MS;

/** Seals the log from time to time, for as long as the service runs. Every instance does: the first one wins. */
export function auditSealing(options: AuditSealingOptions): PeriodicWorker {
  const { sealer, instanceStatus, clock, intervalMs, random, onTrouble } = options;
  const lookMs = Math.min(POLL_INTERVAL_MS, intervalMs);
  /** Since when there is something to seal behind the seal of `lastRevision`; on the monotonic clock. */
  let waitsSince: number | null = null;
  let lastRevision: number | null = null;
  const isLate = (event: RecordedEvent) => clock.now() - epochMs(String(event.metadata.at)) > intervalMs;

  const round = async ({ stopping, sleep }: Round) => {
    // A log that goes on elsewhere takes nothing any more.
    if (typeof (await instanceStatus.get()).instance?.frozenAt === "number") return;
    let since = performance.now();
    await sealer.readOn(async (_, lastEvent) => {
      const factor = lastEvent && isLate(lastEvent) ? YIELD_FACTOR.late : YIELD_FACTOR.inTime;
      await sleep(Math.min(YIELD_MS_MAX, factor * (performance.now() - since)));
      stopping.throwIfAborted();
      since = performance.now();
    });
    const now = clock.monotonicMs();
    const isAnotherChain = sealer.last.revision !== lastRevision;
    lastRevision = sealer.last.revision;
    if (sealer.waiting === 0) waitsSince = null;
    else if (waitsSince === null || isAnotherChain) waitsSince = now;
    if (waitsSince !== null && now - waitsSince >= intervalMs) await sealer.seal();
  };

  // Instances that start together shall not seal together.
  return periodicWorker({ round, intervalMs: lookMs, firstDelayMs: lookMs * random(), onTrouble });
}
