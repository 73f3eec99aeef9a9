import { version } from "../../../package.json";
import { countReady } from "../../../projections/emails/mailQueue.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import type { Check } from "../../http/health/healthController.ts";
import { unlessUnavailable } from "../../ports/readDatabase.ts";
import type { Readers } from "../../readModels/readModelReaders.ts";
import type { EventAndRequestCounts } from "./eventAndRequestCounts.ts";
import { processMetrics } from "./processMetrics.ts";
import { counter, gauge, type Metric, prometheusText } from "./prometheusText.ts";

/** Counting of due messages stops here; more are shown as this many. */
const DUE_MAX = 10_000;

interface MetricsOptions {
  readonly deps: Dependencies;
  readonly readers: Readers;
  readonly counts: EventAndRequestCounts;
  readonly readiness: () => Promise<Readonly<Record<string, Check>>>;
  inFlight(): { readonly requests: number; readonly deliveries: number };
}

/** The metrics of a running service in Prometheus' format. They contain no address and no id. */
export function serviceMetrics(options: MetricsOptions): () => Promise<string> {
  const ofProcess = processMetrics();
  return async () => {
    const checks = await options.readiness();
    return prometheusText([
      ...ofProcess(),
      gauge("postledger_info", "What runs here.", [{ labels: { version }, value: 1 }]),
      ...stateMetrics(options, checks),
      ...countMetrics(options.counts),
    ]);
  };
}

function stateMetrics(
  { deps, readers, inFlight }: MetricsOptions,
  checks: Readonly<Record<string, Check>>,
): readonly Metric[] {
  const { requests, deliveries } = inFlight();
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
    gauge("postledger_disk_free_bytes", "Free space for DATA_DIR.", [{ value: deps.disk.freeBytes() }]),
    gauge("postledger_requests_in_flight", "Requests without a complete answer yet.", [{ value: requests }]),
    gauge("postledger_deliveries_in_flight", "Messages and webhook calls that a worker is delivering.", [
      { value: deliveries },
    ]),
    gauge(
      "postledger_messages_due",
      `Messages that should be delivered by now; ${DUE_MAX} at most.`,
      dueOf(deps, readers),
    ),
  ];
}

/** None while the read model is unavailable. */
function dueOf({ clock }: Dependencies, readers: Readers): Metric["samples"] {
  const value = unlessUnavailable(() => countReady(readers.reader("emails"), clock.now(), DUE_MAX));
  return value === null ? [] : [{ value }];
}

function countMetrics({ events, requests }: EventAndRequestCounts): readonly Metric[] {
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
  ];
}
