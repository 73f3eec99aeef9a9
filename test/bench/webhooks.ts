import { LOG_START, type Position } from "../../src/ports/eventStore.ts";
import { until } from "../support/until.ts";
import { bareWebhookCalls } from "./bareWebhookClient.ts";
import type { Bench } from "./benches.ts";
import { onFresh, rssMb, serveOn } from "./benchService.ts";
import { add, addRatio } from "./report.ts";
import { makeWebhookSetup, type SetupSize, type WebhookSetup } from "./webhookSetup.ts";

const SIZE: SetupSize = { workspaces: 100, endpoints: 2, hanging: 0 };
/** After so many the service is warm: caches have their size, code is compiled. */
const WARM_DELIVERIES = 5_000;
const DELIVERIES_PER_TURN = { sqlite: 6_000, eventstoredb: 3_000 };
const BARE_CALLS_PER_TURN = 4_000;
const BARE_CALLERS = 32;
const DELIVERY_MS_MAX = 300_000;
/** How long memory that is no longer needed is given to come back. */
const REST_MS = 3_000;

/** Counts what the log says was delivered. */
function deliveredCounter({ log }: WebhookSetup): () => Promise<number> {
  let position: Position = LOG_START;
  let delivered = 0;
  return async () => {
    for await (const batch of log.store.readAll(position, { types: ["WebhookDelivered"] })) {
      delivered += batch.events.length;
      position = batch.position;
    }
    return delivered;
  };
}

/** Deliveries one burst of events after another; each answers how long it took in seconds. */
function delivererOf(setup: WebhookSetup): (count: number) => Promise<number> {
  const delivered = deliveredCounter(setup);
  let total = 0;
  return async (count) => {
    total += count;
    const startedAt = performance.now();
    await setup.addEvents(count / SIZE.endpoints);
    await until(() => setup.sink.received() >= total, "the last call", DELIVERY_MS_MAX);
    await until(async () => (await delivered()) >= total, "the last recorded outcome", DELIVERY_MS_MAX);
    return (performance.now() - startedAt) / 1_000;
  };
}

/** The least memory that the process has while it rests. */
async function rssAtRestMb(pid: number): Promise<number> {
  let rssMinMb = rssMb(pid);
  const endAt = performance.now() + REST_MS;
  while (performance.now() < endAt) {
    await Bun.sleep(REST_MS / 10);
    rssMinMb = Math.min(rssMinMb, rssMb(pid));
  }
  return rssMinMb;
}

/**
 * Events to deliveries, end to end: from the first append until the last call is answered and recorded. Each call
 * is claimed, resolved, signed and made on a connection of its own. In turns with it, a client that makes the same
 * calls and nothing else.
 */
export const webhooks: Bench = async (store, report, { turns }) => {
  const figure = (name: string, unit: string, value: number) =>
    add(report, { name, store: store.name, unit, value });
  const perTurn = DELIVERIES_PER_TURN[store.name];
  await onFresh(store, async (fresh) => {
    const setup = await makeWebhookSetup(fresh, SIZE);
    const { sink, hosts } = setup;
    const bareOptions = { port: sink.port, hosts, calls: BARE_CALLS_PER_TURN, callers: BARE_CALLERS };
    let seconds = 0;
    let bareSeconds = 0;
    try {
      await serveOn(fresh, setup.settings, async ({ pid }) => {
        const deliver = delivererOf(setup);
        await deliver(WARM_DELIVERIES);
        const rssWarm = figure(`RSS after ${WARM_DELIVERIES} deliveries`, "MB", await rssAtRestMb(pid));
        for (let turn = 0; turn < turns; turn += 1) {
          bareSeconds += await bareWebhookCalls(bareOptions);
          seconds += await deliver(perTurn);
        }
        const rssLast = figure(`RSS after ${turns * perTurn} more`, "MB", await rssAtRestMb(pid));
        addRatio(report, `webhooks_rss_last_vs_warm_${store.name}`, rssLast / rssWarm);
      });
    } finally {
      await setup.stop();
    }
    const bareRate = figure("bare HTTPS client", "calls/s", (turns * BARE_CALLS_PER_TURN) / bareSeconds);
    const rate = figure("webhooks", "deliveries/s", (turns * perTurn) / seconds);
    addRatio(report, `webhooks_vs_bare_client_${store.name}`, rate / bareRate);
  });
};
