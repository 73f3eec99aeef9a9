import { callerOf, type TestProcess } from "../support/service.ts";
import { rawAppends } from "./append.ts";
import { type Bench, CONNECTIONS } from "./benches.ts";
import { onFresh, serveOn } from "./benchService.ts";
import type { BenchStore, FreshStore } from "./benchStores.ts";
import { httpLoad, type LoadResult } from "./httpLoad.ts";
import { type Outbox, startOutbox } from "./outbox/startOutbox.ts";
import { cpuUsOf } from "./processTime.ts";
import { add, addRatio, median, type Report } from "./report.ts";

const WARM_REQUESTS = 3_000;
/** Of each kind and turn: enough for some seconds on two cores. */
const REQUESTS = { sqlite: 10_000, eventstoredb: 3_000 };
const APPENDS = { sqlite: 20_000, eventstoredb: 4_000 };

const APPEND = "append";
const SEND = "send";
const REPLAY = "replay";
const OUTBOX = "outbox on PostgreSQL";
const SEND_BESIDE = "send beside replays of another instance's";
const OTHERS_REPLAY = "replay of another instance's";

/** Work of one kind in one turn. Latencies in ms; processor time of one request in µs. */
export interface Pace extends Pick<LoadResult, "perSecond"> {
  readonly cpuUs: number;
  readonly p50?: number;
  readonly p99?: number;
}

/** What was measured of each kind, turn by turn. */
class Paces {
  private readonly samples = new Map<string, Pace[]>();

  note(kind: string, pace: Pace): void {
    this.samples.set(kind, [...this.of(kind), pace]);
  }

  of(kind: string): readonly Pace[] {
    return this.samples.get(kind) ?? [];
  }

  get kinds(): readonly string[] {
    return [...this.samples.keys()];
  }
}

type Measure = (keyPrefix: string, requests: number) => Promise<Pace>;

/** Requests from a load generator, and the processor time that they took of `cpuUs` until `settled`. */
async function paced(
  load: {
    readonly url: string;
    readonly apiKey: string;
    readonly keyPrefix: string;
    readonly requests: number;
  },
  cpuUs: () => number,
  settled: () => Promise<unknown> = async () => {},
): Promise<Pace> {
  const before = cpuUs();
  const { perSecond, p50, p99, refused } = await httpLoad({ ...load, connections: CONNECTIONS });
  if (refused > 0) throw new Error(`${refused} requests were refused`);
  await settled();
  return { perSecond, p50, p99, cpuUs: (cpuUs() - before) / load.requests };
}

/** Of the service's process alone, with all its threads, until its read models have followed what was sent. */
export function serviceLoad({ url, apiKey, pid }: TestProcess): Measure {
  const { call } = callerOf(url, apiKey);
  const followed = () => call("GET", "/api/v1/emails?limit=1");
  return (keyPrefix, requests) => paced({ url, apiKey, keyPrefix, requests }, () => cpuUsOf(pid), followed);
}

function outboxLoad({ url, apiKey, cpuUs }: Outbox): Measure {
  return (keyPrefix, requests) => paced({ url, apiKey, keyPrefix, requests }, cpuUs);
}

/** Raw two-event appends through the adapter, on a store of their own. */
async function appendPace(store: BenchStore): Promise<Pace> {
  const pace = { perSecond: 0, cpuUs: 0 };
  await onFresh(store, async (fresh) => {
    const log = await fresh.open();
    await rawAppends(log, store.callers, WARM_REQUESTS);
    const before = process.cpuUsage();
    pace.perSecond = await rawAppends(log, store.callers, APPENDS[store.name]);
    const { user, system } = process.cpuUsage(before);
    pace.cpuUs = (user + system) / APPENDS[store.name];
    await log.close();
  });
  return pace;
}

interface Turns {
  readonly store: BenchStore;
  readonly turns: number;
}

/** Appends, sends, their replays and the reference, in turns. */
async function sendTurns({ store, turns }: Turns, fresh: FreshStore, paces: Paces): Promise<void> {
  const requests = REQUESTS[store.name];
  const outbox = store.name === "sqlite" ? await startOutbox() : null;
  if (store.name === "sqlite" && outbox === null)
    process.stderr.write(`${OUTBOX}: no initdb: it is skipped\n`);
  try {
    await serveOn(fresh, { DELIVERY: "off" }, async (service) => {
      const load = serviceLoad(service);
      const reference = outbox && outboxLoad(outbox);
      await load("warm-up", WARM_REQUESTS);
      await reference?.("warm-up", WARM_REQUESTS);
      for (let turn = 0; turn < turns; turn += 1) {
        paces.note(APPEND, await appendPace(store));
        paces.note(SEND, await load(`turn-${turn}`, requests));
        if (reference) paces.note(OUTBOX, await reference(`turn-${turn}`, requests));
        paces.note(REPLAY, await load(`turn-${turn}`, requests));
      }
    });
  } finally {
    await outbox?.stop();
  }
}

/** Replays of what {@link sendTurns} sent: a service that has just started knows of no message, so it asks the log. */
function replayTurns({ store, turns }: Turns, fresh: FreshStore, paces: Paces): Promise<void> {
  const requests = REQUESTS[store.name];
  return serveOn(fresh, { DELIVERY: "off" }, async (service) => {
    const load = serviceLoad(service);
    await load("second warm-up", WARM_REQUESTS);
    for (let turn = 0; turn < turns; turn += 1) {
      paces.note(SEND_BESIDE, await load(`beside-${turn}`, requests));
      paces.note(OTHERS_REPLAY, await load(`turn-${turn}`, requests));
    }
  });
}

function tell(report: Report, store: string, paces: Paces): void {
  for (const kind of paces.kinds) {
    const figure = (name: string, unit: string, of: (pace: Pace) => number | undefined) => {
      const values = paces.of(kind).flatMap((pace) => of(pace) ?? []);
      if (values.length > 0) add(report, { name, store, unit, value: median(values) });
    };
    figure(kind, kind === APPEND ? "two-event appends/s" : "requests/s", ({ perSecond }) => perSecond);
    figure(`${kind} p50`, "ms", ({ p50 }) => p50);
    figure(`${kind} p99`, "ms", ({ p99 }) => p99);
    figure(`${kind} cpu_us`, "µs", ({ cpuUs }) => cpuUs);
  }
  const ratio = (name: string, kinds: readonly [string, string], of: (pace: Pace) => number | undefined) => {
    const [one, other] = kinds.map((kind) => paces.of(kind).map((pace) => of(pace) ?? Number.NaN));
    if (!one?.length || !other?.length) return;
    addRatio(
      report,
      `${name}_${store}`,
      median(one.map((value, turn) => value / (other[turn] ?? Number.NaN))),
    );
  };
  ratio("send_vs_append", [SEND, APPEND], ({ perSecond }) => perSecond);
  ratio("send_cpu_vs_append_cpu", [SEND, APPEND], ({ cpuUs }) => cpuUs);
  ratio("send_vs_outbox", [SEND, OUTBOX], ({ perSecond }) => perSecond);
  ratio("send_cpu_vs_outbox_cpu", [SEND, OUTBOX], ({ cpuUs }) => cpuUs);
  ratio("send_p99_vs_outbox_p99", [SEND, OUTBOX], ({ p99 }) => p99);
  ratio("replay_vs_send", [REPLAY, SEND], ({ perSecond }) => perSecond);
  ratio("replay_of_another_vs_send", [OTHERS_REPLAY, SEND_BESIDE], ({ perSecond }) => perSecond);
}

/**
 * The whole send path over HTTP with read models following and delivery held, its replay, raw appends, and a
 * hand-written outbox under the same load: in turns, with medians, ratios too.
 */
export const send: Bench = async (store, report, { turns }) => {
  const paces = new Paces();
  await onFresh(store, async (fresh) => {
    await sendTurns({ store, turns }, fresh, paces);
    await replayTurns({ store, turns }, fresh, paces);
  });
  tell(report, store.name, paces);
};
