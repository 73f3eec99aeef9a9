/** What a ratio of a run may be: at least so much, or at most. */
export interface Threshold {
  readonly min?: number;
  readonly max?: number;
}

/**
 * The ratios that a release keeps, by the names under which benches tell them. Each leaves room for a machine that does
 * other things as well: one that fails says that something costs a quarter more than it did. Ratios of rates leave more than
 * those of processor time: where many processes want the cores, what works on one thread gets the fewest turns.
 */
export const GUARD_THRESHOLDS: Readonly<Record<string, Threshold>> = {
  send_vs_append_sqlite: { min: 0.3 },
  send_cpu_vs_append_cpu_sqlite: { max: 4.5 },
  // The outbox gains more from a fast disk: on such a machine a send has cost 0.85 to 1.08 of it.
  send_vs_outbox_sqlite: { min: 0.75 },
  send_cpu_vs_outbox_cpu_sqlite: { max: 1.1 },
  replay_vs_send_sqlite: { min: 1.3 },
  replay_of_another_vs_send_sqlite: { min: 0.8 },
  project_vs_read_sqlite: { min: 0.1 },
  webhooks_vs_bare_client_sqlite: { min: 0.4 },
};

/** Measured only where PostgreSQL is there. */
export const NOT_EVERYWHERE: ReadonlySet<string> = new Set([
  "send_vs_outbox_sqlite",
  "send_cpu_vs_outbox_cpu_sqlite",
]);

/** What is wrong with the ratios of a run, each in a line; a ratio that is missing is a fault, unless it is `optional`. */
export function thresholdFaults(
  ratios: Readonly<Record<string, number>>,
  thresholds: Readonly<Record<string, Threshold>>,
  optional: ReadonlySet<string>,
): readonly string[] {
  return Object.entries(thresholds).flatMap(([name, { min = 0, max = Number.POSITIVE_INFINITY }]) => {
    const ratio = ratios[name];
    if (ratio === undefined) return optional.has(name) ? [] : [`${name} was not measured`];
    if (ratio >= min && ratio <= max) return [];
    // NaN is neither.
    return [`${name} is ${ratio}: ${ratio > max ? `at most ${max}` : `at least ${min}`} was wanted`];
  });
}
