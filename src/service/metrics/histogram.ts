/** How many values were observed in each of several ranges, and their sum. */
export interface Histogram {
  /** The upper bounds of the ranges, in ascending order; the last range has none. */
  readonly bounds: readonly number[];
  /** The values in each range: above the bound before it, and up to its own. One more than there are bounds. */
  readonly counts: readonly number[];
  readonly sum: number;
  observe(value: number): void;
}

export function createHistogram(bounds: readonly number[]): Histogram {
  const counts = [...bounds, Number.POSITIVE_INFINITY].map(() => 0);
  let sum = 0;
  return {
    bounds,
    counts,
    get sum() {
      return sum;
    },
    observe(value) {
      const index = bounds.findIndex((bound) => value <= bound);
      const range = index < 0 ? bounds.length : index;
      counts[range] = (counts[range] ?? 0) + 1;
      sum += value;
    },
  };
}
