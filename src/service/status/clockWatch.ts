import type { Logger } from "pino";
import { DAY_MS, type EpochMs, MINUTE_MS, SECOND_MS } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";
import { type PeriodicWorker, periodicWorker } from "../../reactors/worker/periodicWorker.ts";

const LOOK_INTERVAL_MS = 5 * SECOND_MS;
/** Corrections below this change nothing that anybody would notice. */
export const JUMP_MS_MIN = MINUTE_MS;

/** How long `doctor` mentions a jump ahead: nothing shows whether the new time is right. */
const JUMP_SHOWN_MS = DAY_MS;

const PAGE = "docs/operations.md, When the clock is wrong";
const AHEAD = `the clock jumped ahead, or the machine was suspended: API keys and sessions may have expired, and scheduled mail may go out. If the new time is wrong, set it right within 15 minutes: until then nothing expires for good (${PAGE})`;
const BACK = `the clock jumped back: what was scheduled by the later time, such as mail, retries of webhooks and daily limits, waits until the clock reaches it again (${PAGE})`;

export interface ClockWatch extends PeriodicWorker {
  /** The latest time of day that the clock has shown since the start: events may be dated up to then. */
  latestSeen(): EpochMs;
  /** The last jump ahead, less what the clock has gone back since; null once that, or {@link JUMP_SHOWN_MS}, is over. */
  jumpAhead(): ClockJump | null;
}

/** When the clock jumped, by its new time, and how far. */
export interface ClockJump {
  readonly at: EpochMs;
  readonly byMs: number;
}

/** Logs one line for each jump of the clock by more than a minute. */
export function clockWatch(
  logger: Pick<Logger, "warn">,
  clock: Clock,
  intervalMs = LOOK_INTERVAL_MS,
): ClockWatch {
  const startOf = () => clock.now() - clock.monotonicMs();
  let startedAt = startOf();
  let latest = clock.now();
  let ahead: (ClockJump & { readonly seenAt: number }) | null = null;
  const jumpAhead = () =>
    ahead !== null && clock.monotonicMs() - ahead.seenAt < JUMP_SHOWN_MS ? ahead : null;
  const look = async () => {
    latest = Math.max(latest, clock.now());
    const jumpMs = startOf() - startedAt;
    // Small corrections do not add up to a jump.
    startedAt += jumpMs;
    if (Math.abs(jumpMs) <= JUMP_MS_MIN) return;
    // A clock that has gone back by a part of the jump is still ahead.
    const byMs = jumpMs > 0 ? jumpMs : (jumpAhead()?.byMs ?? 0) + jumpMs;
    ahead = byMs > JUMP_MS_MIN ? { at: clock.now(), byMs, seenAt: clock.monotonicMs() } : null;
    logger.warn({ jumpSeconds: Math.round(jumpMs / SECOND_MS) }, jumpMs > 0 ? AHEAD : BACK);
  };
  const worker = periodicWorker({ round: look, intervalMs, firstDelayMs: 0, onTrouble: () => {} });
  return {
    ...worker,
    latestSeen: () => latest,
    jumpAhead,
  };
}
