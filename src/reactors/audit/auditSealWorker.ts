import type { AuditSealer } from "../../commands/audit/auditSealer.ts";
import type { InstanceStatusCache } from "../../commands/instance/instanceStatusCache.ts";
import { isFrozen } from "../../domain/instance/state.ts";
import { epochMs, SECOND_MS } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";
import type { RecordedEvent } from "../../ports/eventStore.ts";
import { type PeriodicWorker, periodicWorker, type Round } from "../worker/periodicWorker.ts";

interface AuditSealWorkerOptions {
  readonly sealer: AuditSealer;
  readonly instanceStatus: Pick<InstanceStatusCache, "get">;
  readonly clock: Clock;
  /** The longest time from an event to its seal, also over restarts. A full seal does not wait for it. */
  readonly intervalMs: number;
  /** In [0, 1). */
  readonly random: () => number;
  readonly onTrouble: (error: unknown) => void;
}

/** How often it reads on. */
const POLL_INTERVAL_MS = 5 * SECOND_MS;
/**
 * It sleeps this many times as long as it has worked, so under load sealing falls behind instead of slowing others
 * down. `late` applies to events older than the interval.
 */
const YIELD_FACTOR = { inTime: 19, late: 4 } as const;
const YIELD_MS_MAX = SECOND_MS;

/** Seals the log periodically. Every instance does; the first one wins. */
export function auditSealWorker(options: AuditSealWorkerOptions): PeriodicWorker {
  const { sealer, instanceStatus, clock, intervalMs, random, onTrouble } = options;
  const lookMs = Math.min(POLL_INTERVAL_MS, intervalMs);
  /**
   * Since when events wait behind the seal at `lastRevision`, by the monotonic clock. What waited when this process began
   * counts from its own time, at most the interval before now; later events count from when they were seen, so that a
   * writer whose clock is behind does not make every event due at once.
   */
  let waitsSince: number | null = null;
  let lastRevision: number | null = null;
  /** How long the first event without a seal has waited, in ms; 0 if its time makes no sense. */
  const waitedMs = () => {
    const ms = clock.now() - epochMs(sealer.waitingSince ?? "");
    return ms > 0 ? Math.min(ms, intervalMs) : 0;
  };
  const isLate = (event: RecordedEvent) => clock.now() - epochMs(String(event.metadata.at)) > intervalMs;

  const round = async ({ stopping, sleep }: Round) => {
    // A frozen log accepts nothing more.
    if (isFrozen((await instanceStatus.get()).instance)) return;
    let since = performance.now();
    await sealer.readOn(async (_, lastEvent) => {
      const factor = lastEvent && isLate(lastEvent) ? YIELD_FACTOR.late : YIELD_FACTOR.inTime;
      await sleep(Math.min(YIELD_MS_MAX, factor * (performance.now() - since)));
      stopping.throwIfAborted();
      since = performance.now();
    });
    const now = clock.monotonicMs();
    const isFirstRound = lastRevision === null;
    const isAnotherChain = sealer.last.revision !== lastRevision;
    lastRevision = sealer.last.revision;
    if (sealer.waiting === 0) waitsSince = null;
    else if (waitsSince === null || isAnotherChain) waitsSince = isFirstRound ? now - waitedMs() : now;
    if (waitsSince !== null && now - waitsSince >= intervalMs) await sealer.seal();
  };

  // Instances that start together should not seal together.
  return periodicWorker({ round, intervalMs: lookMs, firstDelayMs: lookMs * random(), onTrouble });
}
