import type { Histogram } from "./histogram.ts";

/** One metric, with several samples if they differ in a label. */
export interface Metric {
  readonly name: string;
  readonly help: string;
  /** `counter` and `histogram`: they only grow, from 0 at each start. */
  readonly type: "counter" | "gauge" | "histogram";
  readonly samples: readonly Sample[];
}

interface Sample {
  /** What a histogram's sample is; it follows the name. */
  readonly suffix?: "_bucket" | "_sum" | "_count";
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A value that goes up and down, or several of them. */
export function gauge(name: string, help: string, value: number | Metric["samples"]): Metric {
  return { name, help, type: "gauge", samples: typeof value === "number" ? [{ value }] : value };
}

/** A value that only grows. */
export function counter(name: string, help: string, samples: Metric["samples"]): Metric {
  return { name, help, type: "counter", samples };
}

/** How many values are at most as large as each bound, how many there are, and their sum. */
export function histogram(name: string, help: string, { bounds, counts, sum }: Histogram): Metric {
  let count = 0;
  const buckets = [...bounds.map(String), "+Inf"].map((le, index) => {
    count += counts[index] ?? 0;
    return { suffix: "_bucket", labels: { le }, value: count } as const;
  });
  const totals = [
    { suffix: "_sum", value: sum },
    { suffix: "_count", value: count },
  ] as const;
  return { name, help, type: "histogram", samples: [...buckets, ...totals] };
}

export const PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Metrics in the text format of Prometheus, version 0.0.4. */
export function prometheusText(metrics: readonly Metric[]): string {
  return metrics.map(metricText).join("");
}

function metricText({ name, help, type, samples }: Metric): string {
  const lines = samples.map(
    ({ suffix = "", labels = {}, value }) => `${name}${suffix}${labelsText(labels)} ${value}\n`,
  );
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

function labelsText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
