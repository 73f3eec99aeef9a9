import { DAY_MS, rfc3339 } from "../../src/kernel/time.ts";
import type { TestProcess } from "../support/service.ts";
import { type BenchOptions, CONNECTIONS } from "./benches.ts";
import { onFresh } from "./benchService.ts";
import type { BenchStore } from "./benchStores.ts";
import { grown, MAIN, run, timedStart } from "./growth.ts";
import { httpLoad } from "./httpLoad.ts";
import { add, addRatio, median, type Report } from "./report.ts";

/** Who asks for lists while others send. */
const CALLERS = 8;
const TURNS = 3;
const SENDS_PER_TURN = { sqlite: 6_000, eventstoredb: 2_000 };
const WARM_REQUESTS = 3_000;

/** What each list can be asked that costs it most: filters that match nothing, the most items, the longest range. */
async function worstQueries({ call }: TestProcess): Promise<Readonly<Record<string, string>>> {
  const { data: endpoints } = (await call("GET", "/webhooks")).json;
  const { data: senders } = (await call("GET", "/api/v1/senders")).json;
  const from = encodeURIComponent(senders[0].address);
  const monthAgo = encodeURIComponent(rfc3339(Date.now() - 30 * DAY_MS));
  const quarterAgo = encodeURIComponent(rfc3339(Date.now() - 91 * DAY_MS));
  return {
    "no such status": "/api/v1/emails?status=sending&limit=100",
    "no such status of a sender": `/api/v1/emails?status=sending&from=${from}&limit=100`,
    "no such recipient": "/api/v1/emails?to=nobody@example.org&limit=100",
    "no such sender": "/api/v1/emails?from=nobody@example.org&limit=100",
    "100 messages": "/api/v1/emails?limit=100",
    workspace: "/api/v1/workspace",
    "usage by hour": `/api/v1/usage?by=hour&from=${monthAgo}&group_by=template&limit=100`,
    "usage by day": `/api/v1/usage?from=${quarterAgo}&group_by=sender&limit=100`,
    bounces: `/api/v1/usage/bounces?from=${quarterAgo}&domain=nowhere.example&limit=100`,
    "suppressions for no such reason": "/api/v1/suppressions?reason=manual&limit=100",
    "deliveries of no such type": `/webhooks/${endpoints[0].id}/deliveries?event_type=webhook.test&limit=100`,
  };
}

/** Asks for a list again and again until told to stop; answers how many answers a caller got in a second. */
async function callers({ url, apiKey }: TestProcess, path: string, until: Promise<unknown>): Promise<number> {
  let isOver = false;
  let answers = 0;
  void until.finally(() => {
    isOver = true;
  });
  const startedAt = performance.now();
  const caller = async () => {
    while (!isOver) {
      const answer = await fetch(url + path, { headers: { authorization: `Bearer ${apiKey}` } });
      await answer.arrayBuffer();
      if (answer.status !== 200) throw new Error(`${path} was answered by ${answer.status}`);
      answers += 1;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return answers / ((performance.now() - startedAt) / 1_000);
}

async function measureQueries(store: BenchStore, service: TestProcess, report: Report): Promise<void> {
  const { url, apiKey } = service;
  let turn = 0;
  const send = async (requests: number) => {
    turn += 1;
    const sent = await httpLoad({
      url,
      apiKey,
      connections: CONNECTIONS,
      requests,
      keyPrefix: `queries-${turn}`,
    });
    if (sent.refused > 0) throw new Error(`${sent.refused} sends were refused`);
    return sent.p99;
  };
  await send(WARM_REQUESTS);
  let ratioMax = 0;
  for (const [name, path] of Object.entries(await worstQueries(service))) {
    const alone: number[] = [];
    const whileBusy: number[] = [];
    let perSecond = 0;
    for (let nth = 0; nth < TURNS; nth += 1) {
      alone.push(await send(SENDS_PER_TURN[store.name]));
      const sending = send(SENDS_PER_TURN[store.name]);
      perSecond = await callers(service, path, sending);
      whileBusy.push(await sending);
    }
    const figure = (what: string, unit: string, value: number) =>
      add(report, { name: `${name}: ${what}`, store: store.name, unit, value });
    const before = figure("send p99 alone", "ms", median(alone));
    const after = figure(`send p99 beside ${CALLERS} callers`, "ms", median(whileBusy));
    figure("answers", "requests/s", perSecond);
    ratioMax = Math.max(ratioMax, after / before);
  }
  addRatio(report, `queries_send_p99_beside_vs_alone_${store.name}`, ratioMax);
}

/** Sends beside eight callers of the worst query of each list, on a log of `messages` messages. */
export async function queries(store: BenchStore, report: Report, { messages }: BenchOptions): Promise<void> {
  await onFresh(store, async (fresh) => {
    await grown(store, fresh, messages, report);
    await run([MAIN, "projection", "rebuild"], fresh.env);
    const { service } = await timedStart(fresh);
    try {
      await measureQueries(store, service, report);
    } finally {
      await service.kill("SIGTERM");
    }
  });
}
