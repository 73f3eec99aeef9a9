import { readdirSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { descriptorLimit } from "../../adapters/system/descriptorLimit.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import { counter, gauge, type Metric } from "./prometheusText.ts";

const MICROSECONDS = 1_000_000;
/** How often the lag of the event loop is sampled, which costs a timer. */
const LAG_SAMPLE_MS = 20;
const NANOSECONDS_PER_MICROSECOND = 1_000;

/** The metrics of the process, with the names and meanings of `prom-client`. */
export function processMetrics(): () => readonly Metric[] {
  const startedAt = Date.now();
  const lag = monitorEventLoopDelay({ resolution: LAG_SAMPLE_MS });
  lag.enable();
  return () => {
    const { user, system } = process.cpuUsage();
    // Not `heapTotal`: it leaves out large objects, so it is smaller than what is used.
    const { rss, heapUsed, external } = process.memoryUsage();
    const metrics = [
      gauge("process_start_time_seconds", "Start time, in seconds since 1970.", startedAt / SECOND_MS),
      counter("process_cpu_seconds_total", "Processor time of the process.", [
        { value: (user + system) / MICROSECONDS },
      ]),
      gauge("process_resident_memory_bytes", "Memory of the process.", rss),
      ...descriptorMetrics(),
      gauge("nodejs_heap_size_used_bytes", "Used part of the JavaScript heap.", heapUsed),
      gauge("nodejs_external_memory_bytes", "Memory of JavaScript objects outside of the heap.", external),
      ...lagMetrics(lag),
    ];
    lag.reset();
    return metrics;
  };
}

/** None on systems other than Linux. */
function descriptorMetrics(): readonly Metric[] {
  try {
    const max = descriptorLimit();
    return [
      gauge("process_open_fds", "Open file descriptors.", readdirSync("/proc/self/fd").length),
      ...(max === null ? [] : [gauge("process_max_fds", "Limit of file descriptors.", max)]),
    ];
  } catch {
    return [];
  }
}

function lagMetrics(lag: ReturnType<typeof monitorEventLoopDelay>): readonly Metric[] {
  const isEmpty = lag.count === 0;
  const seconds = (nanoseconds: number) =>
    isEmpty ? 0 : Math.round(nanoseconds / NANOSECONDS_PER_MICROSECOND) / MICROSECONDS;
  const since = "lag of the event loop since the last scrape.";
  return [
    gauge("nodejs_eventloop_lag_mean_seconds", `Mean ${since}`, seconds(lag.mean)),
    gauge("nodejs_eventloop_lag_p99_seconds", `99th percentile of the ${since}`, seconds(lag.percentile(99))),
    gauge("nodejs_eventloop_lag_max_seconds", `Largest ${since}`, seconds(lag.max)),
  ];
}
