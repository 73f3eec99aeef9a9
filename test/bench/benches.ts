import { join } from "node:path";
import { projections } from "../../projections/index.ts";
import { sqliteReadDatabases } from "../../src/adapters/sqlite/readModelDatabases.ts";
import { LOG_START } from "../../src/ports/eventStore.ts";
import { rebuildReadModels } from "../../src/readModels/rebuildReadModels.ts";
import { callerOf, type TestProcess } from "../support/service.ts";
import { until } from "../support/until.ts";
import { bareSqliteAppends, rawAppends } from "./append.ts";
import { onFresh, onService, peakRssMb, rssMb } from "./benchService.ts";
import type { BenchStore } from "./benchStores.ts";
import { httpLoad, type LoadResult, seededRandom } from "./httpLoad.ts";
import { largeSends } from "./largeSends.ts";
import { mailBody, templateVersion } from "./mail.ts";
import { add, addRatio, percentile, type Report } from "./report.ts";
import { startSink } from "./smtpSink.ts";

/** Connections of the load generator. */
export const CONNECTIONS = 32;
const SMTP_CONNECTIONS = 64;
const WARM_REQUESTS = 3_000;
const WARM_DELIVERIES = 3_000;
/** Enough for some seconds each on two cores. */
const APPENDS = { sqlite: 100_000, eventstoredb: 20_000 };
const SENDS = { sqlite: 60_000, eventstoredb: 15_000 };
/** How often sends of either kind take turns. */
const TEMPLATE_TURNS = 6;
const DELIVERIES = { sqlite: 10_000, eventstoredb: 6_000 };
/** The promise is about memory after so many sends. */
const MEMORY_SENDS = 200_000;
/** How many connections send at once while the mail is delivered to files, and how many sends each time. */
const MEMORY_CONNECTIONS = [32, 2_048];
const MEMORY_DELIVERIES = 15_000;
const LARGE_CLIENTS = 64;
const SMALL_CALLERS = 4;
const SMALL_PAUSE_MS = 5;
const DELIVERY_MS_MAX = 300_000;

/** What a run is told on its command line. */
export interface BenchOptions {
  /** The messages of a log that has grown. */
  readonly messages: number;
  /** How often what is compared takes turns. */
  readonly turns: number;
}

export type Bench = (store: BenchStore, report: Report, options: BenchOptions) => Promise<void>;

async function measureAppends(store: BenchStore, report: Report): Promise<number> {
  let perSecond = 0;
  await onFresh(store, async (fresh) => {
    const log = await fresh.open();
    await rawAppends(log, store.callers, WARM_REQUESTS);
    perSecond = await rawAppends(log, store.callers, APPENDS[store.name]);
    await log.close();
  });
  return add(report, { name: "append", store: store.name, unit: "two-event appends/s", value: perSecond });
}

/** Raw two-event appends through the adapter; on SQLite beside a bare loop, so a slow adapter cannot hide. */
export const append: Bench = async (store, report) => {
  const bare = store.name === "sqlite" ? await bareSqliteAppends(store.callers, APPENDS.sqlite) : 0;
  const adapter = await measureAppends(store, report);
  if (bare === 0) return;
  add(report, {
    name: "append, bare SQLite loop",
    store: store.name,
    unit: "two-event appends/s",
    value: bare,
  });
  addRatio(report, "append_vs_bare_sqlite", adapter / bare);
};

function addLoad(report: Report, name: string, store: string, load: LoadResult): void {
  if (load.refused > 0) throw new Error(`${load.refused} requests were refused`);
  add(report, { name, store, unit: "requests/s", value: load.perSecond });
  add(report, { name: `${name} p50`, store, unit: "ms", value: load.p50 });
  add(report, { name: `${name} p99`, store, unit: "ms", value: load.p99 });
}

/** Sends by a template beside sends of content, in turns, so that both meet the same machine. */
export const template: Bench = async (store, report) => {
  await onService(store, { DELIVERY: "off" }, async ({ url, apiKey }) => {
    const templateId = await publishTemplate(url, apiKey);
    const direct = { url, apiKey, connections: CONNECTIONS };
    const kinds = { send: direct, "template send": { ...direct, templateId } };
    const perSecond: Record<string, number[]> = {};
    for (const [kind, load] of Object.entries(kinds)) {
      await httpLoad({ ...load, requests: WARM_REQUESTS, keyPrefix: `warm-up ${kind}` });
    }
    for (let turn = 0; turn < TEMPLATE_TURNS; turn += 1) {
      for (const [kind, load] of Object.entries(kinds)) {
        const requests = SENDS[store.name] / TEMPLATE_TURNS;
        const sent = await httpLoad({ ...load, requests, keyPrefix: `${kind} ${turn}` });
        addLoad(report, `${kind} ${turn + 1}`, store.name, sent);
        perSecond[kind] = [...(perSecond[kind] ?? []), sent.perSecond];
      }
    }
    const sum = (kind: keyof typeof kinds) =>
      (perSecond[kind] ?? []).reduce((total, value) => total + value, 0);
    addRatio(report, `template_send_vs_send_${store.name}`, sum("template send") / sum("send"));
  });
};

async function publishTemplate(url: string, apiKey: string): Promise<string> {
  const caller = callerOf(url, apiKey);
  const { json: created } = await caller.call("POST", "/api/v1/templates", { body: { name: "bench" } });
  const path = `/api/v1/templates/${created.id}/versions`;
  const { json: version } = await caller.call("POST", path, { body: templateVersion(seededRandom(3)) });
  const { status } = await caller.call("POST", `${path}/${version.id}/publish`);
  if (status !== 200) throw new Error(`the template was not published: ${status}`);
  return created.id;
}

/** A rebuild of all read models, counted in events of the log, beside reading the log with no work done. */
export const project: Bench = async (store, report) => {
  await onFresh(store, async (fresh) => {
    const log = await fresh.open();
    await rawAppends(log, store.callers, APPENDS[store.name]);
    const events = 2 * APPENDS[store.name];
    const types = [...new Set(projections.flatMap((projection) => projection.events))];
    const readStart = performance.now();
    for await (const batch of log.readAll(LOG_START, { types })) if (batch.events.length < 0) break;
    const readPerSecond = events / ((performance.now() - readStart) / 1_000);
    const read = add(report, {
      name: "read the log",
      store: store.name,
      unit: "events/s",
      value: readPerSecond,
    });
    const startedAt = performance.now();
    const before = process.cpuUsage();
    await rebuildReadModels({
      databases: sqliteReadDatabases,
      directory: join(fresh.env.DATA_DIR as string, "projections"),
      logId: "bench",
      store: log,
      projections,
      owner: true,
      signal: new AbortController().signal,
    });
    const perSecond = events / ((performance.now() - startedAt) / 1_000);
    add(report, { name: "project", store: store.name, unit: "events/s", value: perSecond });
    const { user, system } = process.cpuUsage(before);
    const unit = "µs of processor time/send";
    add(report, { name: "project", store: store.name, unit, value: (2 * (user + system)) / events });
    addRatio(report, `project_vs_read_${store.name}`, perSecond / read);
    await log.close();
  });
};

/** Accept to SMTP sink, end to end: posts and deliveries at once, until the last message is at the sink. */
export const deliver: Bench = async (store, report) => {
  const raw = await measureAppends(store, report);
  const sink = await startSink();
  const messages = DELIVERIES[store.name];
  const expected = WARM_DELIVERIES + messages;
  const env = {
    SMTP_URL: sink.url,
    SMTP_CONNECTIONS_MAX: String(SMTP_CONNECTIONS),
    SMTP_MESSAGES_PER_CONNECTION_MAX: "100000",
  };
  try {
    await onService(store, env, async ({ url, apiKey }) => {
      const load = { url, apiKey, connections: CONNECTIONS };
      await httpLoad({ ...load, requests: WARM_DELIVERIES, keyPrefix: "warm-up" });
      await until(() => sink.received() >= WARM_DELIVERIES, "the warm-up at the sink", DELIVERY_MS_MAX);
      const startedAt = performance.now();
      await httpLoad({ ...load, requests: messages, keyPrefix: "delivered" });
      await until(() => sink.received() >= expected, "the last message at the sink", DELIVERY_MS_MAX);
      const perSecond = messages / ((performance.now() - startedAt) / 1_000);
      add(report, { name: "deliver", store: store.name, unit: "messages/s", value: perSecond });
      addRatio(report, `deliver_vs_append_${store.name}`, perSecond / raw);
    });
    if (sink.received() !== expected) throw new Error(`${sink.received()} arrived for ${expected} sends`);
  } finally {
    sink.stop();
  }
};

/** Small sends of a few callers, one after another, until `isOver`; their latencies in ms, sorted. */
async function smallSends(service: TestProcess, isOver: () => boolean): Promise<readonly number[]> {
  const random = seededRandom(2);
  const latencies: number[] = [];
  const caller = async (number: number) => {
    for (let turn = 0; !isOver(); turn += 1) {
      const startedAt = performance.now();
      const answer = await service.send(`small-send-${number}-${turn}`, mailBody(random));
      latencies.push(performance.now() - startedAt);
      if (answer.status !== 202) throw new Error(`a small send was answered by ${answer.status}`);
      await Bun.sleep(SMALL_PAUSE_MS);
    }
  };
  await Promise.all(Array.from({ length: SMALL_CALLERS }, (_, number) => caller(number)));
  return latencies.sort((left, right) => left - right);
}

/** Many clients that each send the largest request at once, and small sends beside them. */
async function measureLargeSends(store: BenchStore, report: Report): Promise<void> {
  await onService(store, { DELIVERY: "off" }, async (service) => {
    const { url, apiKey, pid } = service;
    let isOver = false;
    const large = largeSends({ url, apiKey, clients: LARGE_CLIENTS }).finally(() => {
      isOver = true;
    });
    const [result, latencies] = await Promise.all([large, smallSends(service, () => isOver)]);
    const figure = (name: string, unit: string, value: number) =>
      add(report, { name, store: store.name, unit, value });
    figure(`${LARGE_CLIENTS} large sends, accepted`, "", result.accepted);
    figure(`${LARGE_CLIENTS} large sends, told to wait`, "times", result.refused);
    figure(`${LARGE_CLIENTS} large sends, until the last`, "s", result.seconds);
    figure("peak RSS with large sends", "MB", peakRssMb(pid));
    figure("small sends beside, p50", "ms", percentile(latencies, 0.5));
    figure("small sends beside, p99", "ms", percentile(latencies, 0.99));
    figure("small sends beside, longest", "ms", latencies.at(-1) ?? 0);
  });
}

/** Memory with delivery on, at few and at many connections. */
async function measureDeliveringMemory(store: BenchStore, report: Report): Promise<void> {
  await onService(store, {}, async ({ url, apiKey, pid }) => {
    for (const connections of MEMORY_CONNECTIONS) {
      const load = {
        url,
        apiKey,
        connections,
        requests: MEMORY_DELIVERIES,
        keyPrefix: `memory-${connections}`,
      };
      const { refused, p99 } = await httpLoad(load);
      if (refused > 0) throw new Error(`${refused} requests were refused`);
      const name = `delivering, ${connections.toLocaleString("en-US")} connections`;
      add(report, { name: `${name}, p99`, store: store.name, unit: "ms", value: p99 });
      add(report, { name: `${name}, RSS`, store: store.name, unit: "MB", value: rssMb(pid) });
    }
    add(report, { name: "delivering, peak RSS", store: store.name, unit: "MB", value: peakRssMb(pid) });
  });
}

/** Memory of the service: while many large requests come at once, and after many small ones. */
export const memory: Bench = async (store, report) => {
  if (store.name !== "sqlite") return;
  await measureDeliveringMemory(store, report);
  await measureLargeSends(store, report);
  await onService(store, { DELIVERY: "off" }, async ({ url, apiKey, pid }) => {
    await httpLoad({ url, apiKey, connections: CONNECTIONS, requests: MEMORY_SENDS, keyPrefix: "memory" });
    add(report, { name: "RSS after 200,000 sends", store: store.name, unit: "MB", value: rssMb(pid) });
  });
};
