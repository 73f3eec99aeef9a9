import { version } from "../../../package.json";
import { countDeferred } from "../../../projections/emails/mailQueue.ts";
import { countDueWebhooks } from "../../../projections/webhookDeliveries/queries.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { NEAR_LIMIT_MAX, WATCHED_LIMITS } from "../../commands/quota/limitWatch.ts";
import { RATE_KINDS } from "../../domain/workspace/sendingRates.ts";
import type { Check } from "../../http/health/healthController.ts";
import type { EpochMs } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Position } from "../../ports/eventStore.ts";
import { type ReadDatabase, unlessUnavailable } from "../../ports/readDatabase.ts";
import { HIGH_RATES_MAX, type SendingRateWatch } from "../../reactors/workspace/sendingRateWatch.ts";
import type { Readers } from "../../readModels/readModelReaders.ts";
import { eventsBetween } from "../adapters/openStore.ts";
import type { Config } from "../config/config.ts";
import type { UnmatchedFeedback } from "../logLines/unmatchedFeedback.ts";
import { countOverdueErasures } from "../status/checks/erasureChecks.ts";
import { countNearLimits } from "../status/checks/limitChecks.ts";
import { countPausedWorkspaces } from "../status/checks/pauseChecks.ts";
import { countHighRates } from "../status/checks/sendingRateChecks.ts";
import { headIfAnswering } from "../status/headIfAnswering.ts";
import { MESSAGES_DUE_MAX, messagesDue } from "../status/messagesDue.ts";
import type { EventAndRequestCounts } from "./eventAndRequestCounts.ts";
import type { Histogram } from "./histogram.ts";
import { processMetrics } from "./processMetrics.ts";
import { counter, gauge, histogram, type Metric, prometheusText } from "./prometheusText.ts";

/** Counting of rows, such as due messages, stops here; more are shown as this many. */
const COUNTED_MAX = 10_000;
/** From a quick relay to mail that was retried for an hour; whatever took longer is in one range. */
export const DELIVERY_SECONDS_BOUNDS = [
  0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600,
] as const;
/** How long the store may take to name the head of the log. */
const HEAD_MS_MAX = 1_000;

interface MetricsOptions {
  readonly config: Pick<Config, "storeUrl">;
  readonly deps: Dependencies;
  readonly readers: Readers;
  readonly counts: EventAndRequestCounts;
  readonly unmatched: Pick<UnmatchedFeedback, "counts">;
  readonly sendingRates: Pick<SendingRateWatch, "high">;
  /** How long each message took from when it was due until the relay had accepted it. */
  readonly deliverySeconds: Histogram;
  readonly readiness: () => Promise<Readonly<Record<string, Check>>>;
  inFlight(): {
    readonly requests: number;
    /** Messages and webhook calls. */
    readonly deliveries: number;
    readonly webhookDeliveries: number;
  };
}

/** The metrics of a running service in Prometheus' format. They contain no address and no id. */
export function serviceMetrics(options: MetricsOptions): () => Promise<string> {
  const ofProcess = processMetrics();
  return async () => {
    const [checks, head, due, countNear] = await Promise.all([
      options.readiness(),
      headIfAnswering(options.deps.store, HEAD_MS_MAX),
      messagesDue(options.deps, options.readers),
      countNearLimits(options.deps),
    ]);
    return prometheusText([
      ...ofProcess(),
      gauge("postledger_info", "What runs here.", [{ labels: { version }, value: 1 }]),
      ...stateMetrics(options, checks),
      gauge(
        "postledger_messages_due",
        `Messages that should be delivered by now, without those that a pause or their sender holds; ${MESSAGES_DUE_MAX} at most.`,
        due === null ? [] : [{ value: due.count }],
      ),
      gauge(
        "postledger_workspaces_near_limit",
        `Workspaces that send and have used 80 % or more of a limit, by limit; ${NEAR_LIMIT_MAX} at most.`,
        countNear === null
          ? []
          : WATCHED_LIMITS.map((limit) => ({ labels: { limit }, value: countNear(limit) })),
      ),
      behindMetric(options, head),
      ...countMetrics(options),
      histogram(
        "postledger_delivery_seconds",
        "Seconds from when a message was due until the relay accepted it, of those that this process delivered.",
        options.deliverySeconds,
      ),
    ]);
  };
}

function stateMetrics(
  { deps, readers, inFlight, sendingRates }: MetricsOptions,
  checks: Readonly<Record<string, Check>>,
): readonly Metric[] {
  const { requests, deliveries, webhookDeliveries } = inFlight();
  return [
    gauge(
      "postledger_check_ok",
      "1 if a check of /health/ready passes, else 0.",
      Object.entries(checks).map(([check, { ok }]) => ({ labels: { check }, value: Number(ok) })),
    ),
    gauge(
      "postledger_read_model_caught_up",
      "1 if a read model is at the head of the log, else 0.",
      readers.status().map(({ name, isCaughtUp }) => ({ labels: { name }, value: Number(isCaughtUp) })),
    ),
    gauge("postledger_disk_free_bytes", "Free space for DATA_DIR.", deps.disk.freeBytes()),
    gauge("postledger_requests_in_flight", "Requests without a complete answer yet.", requests),
    gauge(
      "postledger_deliveries_in_flight",
      "Messages and webhook calls that a worker is delivering.",
      deliveries,
    ),
    gauge(
      "postledger_webhook_deliveries_in_flight",
      "Webhook calls that a worker is making.",
      webhookDeliveries,
    ),
    gauge(
      "postledger_webhook_deliveries_due",
      `Webhook deliveries that should be attempted by now; ${COUNTED_MAX} at most.`,
      countIn(readers.reader("webhook-deliveries"), countDueWebhooks, deps.clock),
    ),
    gauge(
      "postledger_messages_deferred",
      `Messages that wait for their next attempt, because the relay put them off or took no mail; ${COUNTED_MAX} at most.`,
      countIn(readers.reader("emails"), (db, _now, max) => countDeferred(db, max), deps.clock),
    ),
    gauge(
      "postledger_erasures_overdue",
      `Requests to erase a person that have been open for more than 15 minutes; ${COUNTED_MAX} at most.`,
      countIn(readers.reader("erasures"), countOverdueErasures, deps.clock),
    ),
    gauge(
      "postledger_workspaces_paused",
      `Workspaces whose sending is paused; ${COUNTED_MAX} at most.`,
      countIn(readers.reader("audit-log"), countPausedWorkspaces, deps.clock),
    ),
    gauge(
      "postledger_workspaces_high_rate",
      `Workspaces whose bounce or complaint rate is at its warning threshold, by rate; ${HIGH_RATES_MAX} rates at most.`,
      RATE_KINDS.flatMap((rate) => {
        const value = countHighRates(sendingRates, rate);
        return value === null ? [] : [{ labels: { rate }, value }];
      }),
    ),
  ];
}

type CountRows = (db: ReadDatabase, now: EpochMs, max: number) => number;

/** None while the read model is unavailable. */
function countIn(db: ReadDatabase, countRows: CountRows, clock: Clock): Metric["samples"] {
  const value = unlessUnavailable(() => countRows(db, clock.now(), COUNTED_MAX));
  return value === null ? [] : [{ value }];
}

/** No samples without the head of the log. */
function behindMetric({ config, readers }: MetricsOptions, head: Position | null): Metric {
  const samples = readers.status().map(({ name, position, isCaughtUp }) => ({
    labels: { name },
    value: head === null || isCaughtUp ? 0 : eventsBetween(config, position, head),
  }));
  return gauge(
    "postledger_read_model_behind_events",
    "Events of the log after the position of a read model; an estimate on EventStoreDB.",
    head === null ? [] : samples,
  );
}

function countMetrics({ counts: { events, requests }, unmatched }: MetricsOptions): readonly Metric[] {
  return [
    counter(
      "postledger_events_appended_total",
      "Events that this process has appended to the log, by type.",
      [...events].map(([type, value]) => ({ labels: { type }, value })),
    ),
    counter(
      "postledger_http_responses_total",
      "Requests that this process has answered, by status.",
      [...requests].map(([status, value]) => ({ labels: { status: String(status) }, value })),
    ),
    counter(
      "postledger_feedback_unmatched_total",
      "Reports of providers that this process has taken and that matched no message, by source.",
      [...unmatched.counts].map(([source, value]) => ({ labels: { source }, value })),
    ),
  ];
}
