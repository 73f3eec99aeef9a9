import { join } from "node:path";
import { startTestProcess, type TestProcess } from "../support/service.ts";
import { until } from "../support/until.ts";
import { type BenchOptions, CONNECTIONS } from "./benches.ts";
import { onFresh, peakRssMb, rssMb } from "./benchService.ts";
import type { BenchStore, FreshStore } from "./benchStores.ts";
import { measureLookUps } from "./growthLists.ts";
import { growLog } from "./growthLog.ts";
import type { LogReading } from "./growthRead.ts";
import { httpLoad, type LoadResult } from "./httpLoad.ts";
import { add, addRatio, median, type Report } from "./report.ts";

/** What a log that has grown is compared to. */
const SMALL_MESSAGES = 10_000;
/** Both services take turns, so that they meet the same machine. */
const TURNS = 5;
const SENDS_PER_TURN = { sqlite: 10_000, eventstoredb: 2_000 };
const GETS_PER_TURN = 10_000;
const WARM_REQUESTS = 3_000;
/** So few that an answer is waited for and not queued for. */
const GET_CONNECTIONS = 2;
const STARTS = 3;
const START_MS_MAX = 60_000;
const MB = 1_024 * 1_024;
export const MAIN = join(import.meta.dir, "../../src/main.ts");
/** Mail is held, and no content is old enough to be erased. */
const SETTINGS = { DELIVERY: "off" };

/** A log of so many messages, and where they are. */
export interface Grown {
  readonly fresh: FreshStore;
  readonly workspaceId: string;
  readonly messages: number;
  readonly events: number;
}

function start({ env }: FreshStore, more: Readonly<Record<string, string>> = {}): Promise<TestProcess> {
  return startTestProcess({ dataDir: env.DATA_DIR as string, env: { ...env, ...SETTINGS, ...more } });
}

/** Lets a service make its workspace and its sender, and fills the log with messages of theirs. */
export async function grown(
  store: BenchStore,
  fresh: FreshStore,
  messages: number,
  report: Report,
): Promise<Grown> {
  const service = await start(fresh);
  const workspaceId: string = (await service.call("GET", "/api/v1/workspace")).json.id;
  const senders = (await service.call("GET", "/api/v1/senders")).json.data as readonly { id: string }[];
  await service.kill("SIGTERM");
  const log = await fresh.open();
  const names = { workspaceId, senderIds: senders.map(({ id }) => id) };
  const startedAt = performance.now();
  const events = await growLog(log, store.callers, names, messages);
  const perSecond = messages / ((performance.now() - startedAt) / 1_000);
  await log.close();
  const name = `${messages.toLocaleString("en-US")} messages made`;
  add(report, {
    name,
    store: store.name,
    unit: `messages/s, ${events.toLocaleString("en-US")} events`,
    value: perSecond,
  });
  return { fresh, workspaceId, messages, events };
}

/** A process of its own: the most memory it had, in MB, how long it ran, in s, and what it said. */
export async function run(command: readonly string[], env: Readonly<Record<string, string>>) {
  const startedAt = performance.now();
  const child = Bun.spawn([process.execPath, ...command], {
    env: { ...process.env, ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const out = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")} failed: ${out}`);
  const seconds = (performance.now() - startedAt) / 1_000;
  return { out, seconds, peakMb: (child.resourceUsage()?.maxRSS ?? 0) / MB };
}

/** Seals a log, as a service does while it grows: else it would do so while it is measured. */
async function sealed(store: BenchStore, { fresh, events }: Grown, report: Report): Promise<void> {
  const { seconds, peakMb } = await run([MAIN, "audit", "seal"], fresh.env);
  const figure = (name: string, unit: string, value: number) =>
    add(report, { name, store: store.name, unit, value });
  figure("growth: seal", "events/s", events / seconds);
  figure("growth: peak RSS of seal", "MB", peakMb);
}

/** `projection rebuild` as the operator runs it, beside reading the log with no work done. */
async function measureRebuild(store: BenchStore, { fresh, events }: Grown, report: Report): Promise<void> {
  const figure = (name: string, unit: string, value: number) =>
    add(report, { name, store: store.name, unit, value });
  const { out } = await run([join(import.meta.dir, "growthRead.ts"), fresh.env.STORE_URL as string], {});
  const { seconds: readSeconds } = JSON.parse(out) as LogReading;
  const read = figure("growth: read the log", "events/s", events / readSeconds);
  const { seconds, peakMb } = await run([MAIN, "projection", "rebuild"], fresh.env);
  const rebuilt = figure("growth: rebuild", "events/s", events / seconds);
  figure("growth: peak RSS of rebuild", "MB", peakMb);
  addRatio(report, `growth_rebuild_vs_read_${store.name}`, rebuilt / read);
}

/** Until the service says that it is ready, every read model level with the log. */
export async function timedStart(
  fresh: FreshStore,
  more: Readonly<Record<string, string>> = {},
): Promise<{ service: TestProcess; seconds: number }> {
  const startedAt = performance.now();
  const service = await start(fresh, more);
  await until(
    async () => (await service.call("GET", "/health/ready")).status === 200,
    "the service to be ready",
    START_MS_MAX,
  );
  return { service, seconds: (performance.now() - startedAt) / 1_000 };
}

/** Starts the service several times, and leaves the last one running. The slowest start counts. */
async function measureStart(store: BenchStore, log: Grown, report: Report): Promise<TestProcess> {
  let slowest = 0;
  for (let nth = 1; ; nth += 1) {
    const { service, seconds } = await timedStart(log.fresh);
    slowest = Math.max(slowest, seconds);
    if (nth === STARTS) {
      const name = `growth: start at ${log.messages.toLocaleString("en-US")}`;
      add(report, { name, store: store.name, unit: "s", value: slowest });
      return service;
    }
    await service.kill("SIGTERM");
  }
}

/** One side of the comparison. */
interface Side {
  readonly log: Grown;
  readonly service: TestProcess;
  readonly sends: LoadResult[];
  readonly gets: LoadResult[];
}

async function load({ log, service, sends, gets }: Side, turn: number, requests: number): Promise<void> {
  const { url, apiKey } = service;
  const { workspaceId, messages } = log;
  const sent = await httpLoad({ url, apiKey, connections: CONNECTIONS, requests, keyPrefix: `turn-${turn}` });
  const got = await httpLoad({
    url,
    apiKey,
    connections: GET_CONNECTIONS,
    requests: GETS_PER_TURN,
    keyPrefix: "",
    reads: { workspaceId, messages, seed: turn + 1 },
  });
  if (sent.refused + got.refused > 0) throw new Error(`${sent.refused + got.refused} requests were refused`);
  sends.push(sent);
  gets.push(got);
}

async function measureService(
  store: BenchStore,
  [small, large]: readonly [Side, Side],
  report: Report,
): Promise<void> {
  for (const side of [small, large]) {
    await load(side, 0, WARM_REQUESTS);
    side.sends.pop();
    side.gets.pop();
  }
  for (let turn = 1; turn <= TURNS; turn += 1) {
    for (const side of turn % 2 === 0 ? [small, large] : [large, small]) {
      await load(side, turn, SENDS_PER_TURN[store.name]);
    }
  }
  const figures = (side: Side) => {
    const at = `at ${side.log.messages.toLocaleString("en-US")}`;
    const figure = (name: string, unit: string, value: number) =>
      add(report, { name: `growth: ${name} ${at}`, store: store.name, unit, value });
    return {
      perSecond: figure("send", "requests/s", median(side.sends.map(({ perSecond }) => perSecond))),
      p99: figure("send p99", "ms", median(side.sends.map(({ p99 }) => p99))),
      get: figure("GET p50", "ms", median(side.gets.map(({ p50 }) => p50))),
      rss: figure("RSS after it", "MB", rssMb(side.service.pid)),
      peak: figure("peak RSS", "MB", peakRssMb(side.service.pid)),
    };
  };
  const [before, after] = [figures(small), figures(large)];
  for (const { name, p50, p99 } of await measureLookUps(large.service)) {
    add(report, { name: `growth: messages ${name}, p50`, store: store.name, unit: "ms", value: p50 });
    add(report, { name: `growth: messages ${name}, p99`, store: store.name, unit: "ms", value: p99 });
  }
  addRatio(report, `growth_send_vs_small_${store.name}`, after.perSecond / before.perSecond);
  addRatio(report, `growth_send_p99_vs_small_${store.name}`, after.p99 / before.p99);
  addRatio(report, `growth_get_p50_vs_small_${store.name}`, after.get / before.get);
}

/**
 * A log of `messages` messages: how fast all read models are rebuilt from it and with how much memory, and whether
 * the service works on it as on one of 10,000. At 1,000,000 it takes some minutes, and 5 GB of disk for each store.
 */
export async function growth(store: BenchStore, report: Report, { messages }: BenchOptions): Promise<void> {
  await onFresh(store, async (freshSmall) => {
    await onFresh(store, async (freshLarge) => {
      const small = await grown(store, freshSmall, Math.min(SMALL_MESSAGES, messages), report);
      const large = await grown(store, freshLarge, messages, report);
      for (const log of [small, large]) await sealed(store, log, report);
      await measureRebuild(store, large, report);
      const services: TestProcess[] = [];
      try {
        const sides: Side[] = [];
        for (const log of [small, large]) {
          const service = await measureStart(store, log, report);
          services.push(service);
          sides.push({ log, service, sends: [], gets: [] });
        }
        await measureService(store, sides as [Side, Side], report);
      } finally {
        for (const service of services) await service.kill("SIGTERM");
      }
    });
  });
}
