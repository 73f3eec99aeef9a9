import { type Bench, project } from "./benches.ts";
import { GUARD_THRESHOLDS, NOT_EVERYWHERE, thresholdFaults } from "./guardThresholds.ts";
import { send } from "./sends.ts";
import { webhooks } from "./webhooks.ts";

/** The ratios that a release keeps; what is beyond its threshold is a fault of the run. */
export const guard: Bench = async (store, report, options) => {
  if (store.name !== "sqlite") return;
  for (const bench of [send, project, webhooks]) await bench(store, report, options);
  report.faults.push(...thresholdFaults(report.ratios, GUARD_THRESHOLDS, NOT_EVERYWHERE));
};
