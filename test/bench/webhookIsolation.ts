import { until } from "../support/until.ts";
import type { Bench } from "./benches.ts";
import { onFresh, serveOn } from "./benchService.ts";
import type { BenchStore } from "./benchStores.ts";
import { add, addRatio, percentile } from "./report.ts";
import { makeWebhookSetup, type SetupSize, type WebhookSetup } from "./webhookSetup.ts";

/** A thousand endpoints, of which each workspace has one that hangs; and the same without those. */
const MIXED: SetupSize = { workspaces: 100, endpoints: 10, hanging: 1 };
const HEALTHY: SetupSize = { workspaces: 100, endpoints: 9, hanging: 0 };
const HEALTHY_PER_WORKSPACE = 9;
/** Calls to hang, and a backlog behind them, before anything is measured. */
const WARM_EVENTS = 600;
/** Both kinds take turns, so that both meet the same machine. */
const TURNS = 4;
const EVENTS_PER_TURN = 200;
/** Far from what the service can do: what is measured is how long an event takes, not how many there are. */
const EVENTS_PER_SECOND = 20;
const ARRIVAL_MS_MAX = 300_000;

interface Measured {
  readonly setup: WebhookSetup;
  /** Calls that well endpoints have been owed so far. */
  expected: number;
}

/** Lets events happen at an even pace, and answers from event to arrival, in ms, for endpoints that are well. */
async function turn(measured: Measured, events: number, perSecond: number): Promise<readonly number[]> {
  const { setup } = measured;
  const startedAt = performance.now();
  for (let index = 0; index < events; index += 1) {
    await Bun.sleep(Math.max(0, startedAt + (index * 1_000) / perSecond - performance.now()));
    await setup.addEvents(1);
  }
  measured.expected += events * HEALTHY_PER_WORKSPACE;
  await until(() => setup.sink.received() >= measured.expected, "the last arrival", ARRIVAL_MS_MAX);
  return setup.sink.latencies();
}

function withSetup(
  store: BenchStore,
  size: SetupSize,
  work: (measured: Measured) => Promise<void>,
): Promise<void> {
  return onFresh(store, async (fresh) => {
    const setup = await makeWebhookSetup(fresh, size);
    try {
      await serveOn(fresh, setup.settings, () => work({ setup, expected: 0 }));
    } finally {
      await setup.stop();
    }
  });
}

/** From event to arrival at 900 endpoints that are well, with and without 100 beside them that never answer. */
export const isolation: Bench = async (store, report) => {
  const latencies: Record<"without" | "with", number[]> = { without: [], with: [] };
  await withSetup(store, HEALTHY, (healthy) =>
    withSetup(store, MIXED, async (mixed) => {
      const kinds = { without: healthy, with: mixed };
      for (const measured of Object.values(kinds)) await turn(measured, WARM_EVENTS, WARM_EVENTS);
      for (let index = 0; index < TURNS; index += 1) {
        for (const kind of ["without", "with"] as const) {
          latencies[kind].push(...(await turn(kinds[kind], EVENTS_PER_TURN, EVENTS_PER_SECOND)));
        }
      }
    }),
  );
  const p99 = (kind: keyof typeof latencies) => {
    const sorted = latencies[kind].sort((left, right) => left - right);
    const name = `webhook, ${kind} hanging ones`;
    add(report, { name: `${name} p50`, store: store.name, unit: "ms", value: percentile(sorted, 0.5) });
    return add(report, {
      name: `${name} p99`,
      store: store.name,
      unit: "ms",
      value: percentile(sorted, 0.99),
    });
  };
  const without = p99("without");
  addRatio(report, `webhook_p99_with_hanging_${store.name}`, p99("with") / without);
};
