/** One measured figure. `store` is `sqlite`, `eventstoredb` or `-`. */
export interface Result {
  readonly name: string;
  readonly store: string;
  readonly unit: string;
  readonly value: number;
}

/** Figures beside their references, all from one run. */
export interface Report {
  readonly results: Result[];
  readonly ratios: Record<string, number>;
  /** What makes the run fail. */
  readonly faults: string[];
}

export function newReport(): Report {
  return { results: [], ratios: {}, faults: [] };
}

/** Adds a figure and tells it at once: a run takes minutes. Answers its value. */
export function add(report: Report, result: Result): number {
  const { name, store, unit, value } = result;
  report.results.push(result);
  process.stderr.write(`${name.padEnd(28)} ${store.padEnd(13)} ${format(value)} ${unit}\n`);
  return value;
}

export function addRatio(report: Report, name: string, value: number): void {
  report.ratios[name] = Math.round(value * 1_000) / 1_000;
  process.stderr.write(`${name.padEnd(42)} ${report.ratios[name]}\n`);
}

function format(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en-US") : value.toFixed(2);
}

/** The value below which `share` of the sorted figures lie. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

export function median(values: readonly number[]): number {
  return [...values].sort((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}
