import { InstanceMismatchError } from "../../commands/instance/instanceMismatchError.ts";
import { sleep } from "../../kernel/concurrency/sleep.ts";
import { UnreadableEventError } from "../../kernel/event/eventCodec.ts";
import { messageOf } from "../../kernel/text/errorReason.ts";
import { systemErrorCode } from "../../kernel/text/systemErrorText.ts";
import { MINUTE_MS, SECOND_MS } from "../../kernel/time.ts";
import { StoreError } from "../../ports/eventStore.ts";
import { ConfigError } from "../../service/config/configError.ts";
import { placeFault } from "../../service/faults/startupErrors.ts";
import type { ContentFindings, FollowRound, LogFollower } from "./logFollower.ts";

/** How often the whole copy is compared: an erasure reaches it within this time and the next round. */
const COMPARE_EVERY_MS = 10 * MINUTE_MS;
/** How soon a comparison that failed is repeated. */
const COMPARE_AGAIN_MS = MINUTE_MS;
/** The longest wait between rounds while one of the sides cannot be used. */
const RETRY_MS_MAX = 30 * SECOND_MS;

/** What cannot be done at the moment. */
export type FollowTask = "follow" | "compare" | "events" | "record";

/** Called when the state changes, and not each time that it is as it was. */
export interface FollowReports {
  failing(task: FollowTask, reason: string): void;
  working(task: FollowTask): void;
  round(round: FollowRound): void;
  content(findings: ContentFindings): void;
  /** `differsAt`: the position of an event of the copy that is not as it is in the log, or null. */
  events(differsAt: number | null): void;
}

/**
 * Keeps a copy up to date until `stopping` aborts, which ends it between two pages. While one of the sides cannot be
 * used, it reports that once and tries again. Throws what will not pass: above all a refusal.
 */
export async function followLoop(
  follower: LogFollower,
  {
    everyMs,
    stopping,
    reports,
  }: { readonly everyMs: number; readonly stopping: AbortSignal; readonly reports: FollowReports },
): Promise<void> {
  const attempt = attempts(reports);
  let waitMs = everyMs;
  let compareAt = performance.now();
  let roundAt = Number.NEGATIVE_INFINITY;
  const round = async () => {
    roundAt = performance.now();
    reports.round(await follower.round(stopping));
  };
  // A comparison may take longer than the time between two rounds. On a full disk it has to make room first.
  const pause = async () => {
    if (!stopping.aborted && !follower.isFull && performance.now() - roundAt >= everyMs) await round();
  };
  const compare = async () => {
    const findings = await follower.compare(stopping, pause);
    if (!stopping.aborted) reports.content(findings);
  };
  const compareEvents = async () => reports.events(await follower.compareEvents(stopping, pause));
  while (!stopping.aborted) {
    const isFollowing = await attempt("follow", round);
    waitMs = isFollowing ? everyMs : Math.min(Math.max(everyMs, 2 * waitMs), Math.max(everyMs, RETRY_MS_MAX));
    // On a full disk too: what was erased is removed.
    const canCompare = isFollowing || follower.isFull;
    if (canCompare && !stopping.aborted && performance.now() >= compareAt) {
      await attempt("record", () => follower.record());
      const isCompared = await attempt("compare", compare);
      await attempt("events", compareEvents);
      compareAt = performance.now() + (isCompared ? COMPARE_EVERY_MS : COMPARE_AGAIN_MS);
    }
    await sleep(waitMs, stopping);
  }
}

/** Runs a task, and reports when it begins to fail, why if that changes, and when it works again. */
function attempts(reports: FollowReports) {
  const failing = new Map<FollowTask, string>();
  return async (task: FollowTask, work: () => Promise<void>): Promise<boolean> => {
    try {
      await work();
    } catch (error) {
      const reason = passingReason(error);
      if (reason === null) throw error;
      if (failing.get(task) !== reason) reports.failing(task, reason);
      failing.set(task, reason);
      return false;
    }
    if (failing.delete(task)) reports.working(task);
    return true;
  };
}

/** Why something cannot be used at the moment, which may pass; null for every other error. */
function passingReason(error: unknown): string | null {
  const isTold = [StoreError, ConfigError, InstanceMismatchError, UnreadableEventError].some(
    (kind) => error instanceof kind,
  );
  if (isTold) {
    const { cause } = error as Error;
    const why = cause instanceof Error ? placeFault(cause) : null;
    return why === null ? messageOf(error) : `${messageOf(error)}: ${why}`;
  }
  return placeFault(error) ?? (systemErrorCode(error) === null ? null : messageOf(error));
}
