import { LOG_START, type Position } from "../../src/ports/eventStore.ts";
import { until } from "../support/until.ts";
import { bareWebhookCalls } from "./bareWebhookClient.ts";
import type { Bench } from "./benches.ts";
import { onFresh, rssMb, serveOn } from "./benchService.ts";
import { add, addRatio } from "./report.ts";
import { makeBed, type WebhookBed } from "./webhookBed.ts";

const WORKSPACES = 100;
const ENDPOINTS = 2;
/** After so many the service is warm: caches have their size, code is compiled. */
const WARM_DELIVERIES = 5_000;
const DELIVERIES = { sqlite: 30_000, eventstoredb: 15_000 };
const BARE_CALLS = 6_000;
const BARE_CALLERS = 64;
const DELIVERY_MS_MAX = 300_000;

/** Counts what the log says was delivered. */
function deliveredCounter({ log }: WebhookBed): () => Promise<number> {
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

/**
 * Events to deliveries, end to end: from the first append until the last call is answered and recorded. Each call
 * is claimed, resolved, signed and made on a connection of its own. Beside it, before and after, a client that
 * makes the same calls and nothing else.
 */
export const webhooks: Bench = async (store, report) => {
  await onFresh(store, async (fresh) => {
    const bed = await makeBed(fresh, { workspaces: WORKSPACES, endpoints: ENDPOINTS, hanging: 0 });
    const bare = () =>
      bareWebhookCalls({ port: bed.sink.port, hosts: bed.hosts, calls: BARE_CALLS, callers: BARE_CALLERS });
    try {
      const bareBefore = await bare();
      let perSecond = 0;
      await serveOn(fresh, bed.settings, async ({ pid }) => {
        const delivered = deliveredCounter(bed);
        const deliver = async (count: number, total: number) => {
          const startedAt = performance.now();
          await bed.happen(count / ENDPOINTS);
          await until(async () => (await delivered()) >= total, "the last delivery", DELIVERY_MS_MAX);
          return count / ((performance.now() - startedAt) / 1_000);
        };
        await deliver(WARM_DELIVERIES, WARM_DELIVERIES);
        const rssWarm = rssMb(pid);
        perSecond = await deliver(DELIVERIES[store.name], WARM_DELIVERIES + DELIVERIES[store.name]);
        const rssLast = rssMb(pid);
        const figure = (name: string, unit: string, value: number) =>
          add(report, { name, store: store.name, unit, value });
        figure("webhooks", "deliveries/s", perSecond);
        figure(`RSS after ${WARM_DELIVERIES} deliveries`, "MB", rssWarm);
        figure(`RSS after ${DELIVERIES[store.name]} more`, "MB", rssLast);
        addRatio(report, `webhooks_rss_last_vs_warm_${store.name}`, rssLast / rssWarm);
      });
      const bareMean = (bareBefore + (await bare())) / 2;
      add(report, { name: "bare HTTPS client", store: store.name, unit: "calls/s", value: bareMean });
      addRatio(report, `webhooks_vs_bare_client_${store.name}`, perSecond / bareMean);
    } finally {
      await bed.stop();
    }
  });
};
