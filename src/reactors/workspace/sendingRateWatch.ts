import { rateCounts, ratedWorkspaces } from "../../../projections/emails/usage/queries.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { pauseWorkspaceAtThreshold } from "../../commands/workspace/manageWorkspace.ts";
import {
  isAtThreshold,
  pausesCountFrom,
  RATE_KINDS,
  RATE_MESSAGES_MIN,
  type RateKind,
  type RateSettings,
  type RateThresholds,
  ratesCountFrom,
  type SendingCounts,
  type SendingRate,
  sendingRate,
} from "../../domain/workspace/sendingRates.ts";
import { MINUTE_MS, rfc3339, SECOND_MS } from "../../kernel/time.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { tryOne } from "../worker/forEachRow.ts";
import {
  type PeriodicWork,
  type PeriodicWorker,
  periodicWorker,
  type Round,
} from "../worker/periodicWorker.ts";
import { type ActingWorker, workerCommandContext } from "../worker/workerCommandContext.ts";

/** A rate of a workspace. */
export interface WorkspaceRate extends SendingRate {
  readonly workspaceId: string;
}

interface SendingRateWatchOptions extends Pick<PeriodicWork, "onTrouble">, Pick<ActingWorker, "worker"> {
  readonly deps: Pick<Dependencies, "clock" | "workspaces">;
  /** The read model `emails`. */
  readonly emails: ReadDatabase;
  /** Whether that has caught up with the log: until then it has only a part of what it counts. */
  readonly hasCaughtUp: () => boolean;
  readonly thresholds: RateSettings;
  /** Called when a rate comes to its warning threshold, and when it has fallen well below. */
  readonly onChange: (change: "began" | "ended", rate: WorkspaceRate) => void;
  readonly intervalMs?: number;
}

export interface SendingRateWatch extends PeriodicWorker {
  /** The rates that are at their warning threshold, as of the last look at each workspace; null before the first. */
  high(): readonly WorkspaceRate[] | null;
}

const INTERVAL_MS = MINUTE_MS;
/** Workspaces looked at without a pause, about 5 ms, and the pause after them. */
const PAGE_WORKSPACES = 50;
const PAGE_SPACING_MS = 10;
/** Workspaces looked at in one round; the next one goes on with the others. */
const ROUND_WORKSPACES_MAX = 10_000;
/** High rates that are remembered; the service says nothing of more. */
export const HIGH_RATES_MAX = 1_000;
/** A high rate has ended when it is below this share of its threshold: one that is near it would go to and fro. */
const END_SHARE = 0.9;
const CAUGHT_UP_POLL_MS = SECOND_MS;

/**
 * Watches the bounce and complaint rates of all workspaces: tells when one comes to its warning threshold, and pauses the
 * workspace at its pause threshold. Instances may do so at the same time: the second one finds the workspace paused.
 */
export function sendingRateWatch(options: SendingRateWatchOptions): SendingRateWatch {
  const { emails, hasCaughtUp, thresholds, onTrouble, intervalMs = INTERVAL_MS } = options;
  const rates = new HighRates(options);
  let after = "";
  let isComplete = false;

  const round = async ({ stopping, sleep }: Round): Promise<void> => {
    while (!hasCaughtUp() && !stopping.aborted) await sleep(CAUGHT_UP_POLL_MS);
    for (let looked = 0; looked < ROUND_WORKSPACES_MAX && !stopping.aborted; looked += PAGE_WORKSPACES) {
      const page = ratedWorkspaces(emails, after, PAGE_WORKSPACES);
      for (const workspaceId of page) await look(options, rates, workspaceId, stopping);
      after = page[PAGE_WORKSPACES - 1] ?? "";
      isComplete ||= after === "";
      if (after === "") return;
      await sleep(PAGE_SPACING_MS);
    }
  };

  const rounds = periodicWorker({ round, intervalMs, firstDelayMs: 0, onTrouble });
  const isOn = [thresholds.warning, thresholds.pause].some(({ bounce, complaint }) => bounce + complaint > 0);
  return { ...rounds, ...(isOn ? {} : { start() {} }), high: () => (isComplete ? rates.all() : null) };
}

async function look(
  options: SendingRateWatchOptions,
  rates: HighRates,
  workspaceId: string,
  stopping: AbortSignal,
): Promise<void> {
  const { deps, emails, thresholds, onTrouble } = options;
  if (stopping.aborted) return;
  const now = deps.clock.now();
  const counts = rateCounts(emails, workspaceId, rfc3339(ratesCountFrom(now)), rfc3339(now));
  for (const kind of RATE_KINDS) rates.note(workspaceId, kind, sendingRate(kind, counts));
  if (mayReach(counts, thresholds.pause)) await tryOne(() => pauseIfHigh(options, workspaceId), onTrouble);
}

/** Whether a rate of these counts, or of a part of them, can be at its threshold. */
function mayReach({ hardBounced, complained }: SendingCounts, thresholds: RateThresholds): boolean {
  const reported = { bounce: hardBounced, complaint: complained };
  return RATE_KINDS.some((kind) =>
    isAtThreshold({ kind, reported: reported[kind], sent: RATE_MESSAGES_MIN[kind] }, thresholds[kind]),
  );
}

/** Pauses a workspace whose messages since it was last resumed say so. */
async function pauseIfHigh(
  { deps, emails, worker, thresholds }: SendingRateWatchOptions,
  workspaceId: string,
): Promise<void> {
  const state = await deps.workspaces.get(workspaceId);
  if (state === null || state.paused) return;
  const context = workerCommandContext({ clock: deps.clock, worker }, workspaceId);
  const from = pausesCountFrom(state, context.at);
  const counted = { from, ...rateCounts(emails, workspaceId, rfc3339(from), rfc3339(context.at)) };
  await pauseWorkspaceAtThreshold(deps, counted, thresholds.pause, context);
}

/** The rates that are high. Tells of each when it begins to be, and when that is over. */
class HighRates {
  private readonly known = new Map<string, WorkspaceRate>();

  constructor(private readonly options: Pick<SendingRateWatchOptions, "thresholds" | "onChange">) {}

  all(): readonly WorkspaceRate[] {
    return [...this.known.values()];
  }

  note(workspaceId: string, kind: RateKind, rate: SendingRate | null): void {
    const key = `${kind} ${workspaceId}`;
    const before = this.known.get(key);
    const threshold = this.options.thresholds.warning[kind];
    if (rate !== null && isAtThreshold(rate, before ? threshold * END_SHARE : threshold)) {
      if (before === undefined) this.begin(key, { workspaceId, ...rate });
      else this.known.set(key, { workspaceId, ...rate });
    } else if (before !== undefined) {
      this.known.delete(key);
      this.options.onChange("ended", { ...before, ...rate });
    }
  }

  private begin(key: string, rate: WorkspaceRate): void {
    if (this.known.size >= HIGH_RATES_MAX) return;
    this.known.set(key, rate);
    this.options.onChange("began", rate);
  }
}
