import { EventStoreDBClient, jsonEvent, NO_STREAM } from "@eventstore/db-client";
import type { NewEvent } from "../../src/ports/eventStore.ts";
import { startEventStoreDb, startSecuredEventStoreDb } from "../support/stores/eventstoredb.ts";
import { sampleEvents } from "./append.ts";
import { type Bench, CONNECTIONS } from "./benches.ts";
import { serveOn } from "./benchService.ts";
import { type FreshStore, freshStoreOn } from "./benchStores.ts";
import { httpLoad, seededRandom } from "./httpLoad.ts";
import { cpuUsOf } from "./processTime.ts";
import { add, addRatio, median, type Report } from "./report.ts";

const WARM_REQUESTS = 2_000;
const REQUESTS_PER_TURN = 3_000;
const VENDOR_APPENDS = 4_000;
const VENDOR = "the vendor's batch appends";
const SEND = "send";
const REPLAY = "replay";
const SEND_BESIDE = "send beside replays of another instance's";
const OTHERS_REPLAY = "replay of another instance's";

/** Work of one kind: how fast it went, and what processor time it took of the process that did it. */
interface Pace {
  readonly perSecond: number;
  readonly cpuUs: number;
}

/** The vendor's own batch appends with as many callers as the load has connections, in a process of their own. */
async function vendorAppends(url: string): Promise<Pace> {
  const child = Bun.spawn([process.execPath, import.meta.path, url], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error("the vendor's appends failed");
  return JSON.parse(text) as Pace;
}

async function generate(url: string): Promise<Pace> {
  const client = EventStoreDBClient.connectionString(url);
  const random = seededRandom(2);
  const asVendor = ({ id, type, data, metadata }: NewEvent) =>
    jsonEvent({ id, type, data: data as Record<string, unknown>, metadata });
  const appendAll = async (appends: number, callers: number) => {
    let left = appends;
    const caller = async () => {
      while (left-- > 0) {
        const events = sampleEvents(random).map(asVendor);
        await client.appendToStream(`email-${crypto.randomUUID()}`, events, { expectedRevision: NO_STREAM });
      }
    };
    await Promise.all(Array.from({ length: callers }, caller));
  };
  // One goes alone: the vendor may send the first requests of a new stream in any order.
  await appendAll(1, 1);
  await appendAll(WARM_REQUESTS / 4, CONNECTIONS);
  const startedAt = performance.now();
  const before = process.cpuUsage();
  await appendAll(VENDOR_APPENDS, CONNECTIONS);
  const { user, system } = process.cpuUsage(before);
  const seconds = (performance.now() - startedAt) / 1_000;
  return { perSecond: VENDOR_APPENDS / seconds, cpuUs: (user + system) / VENDOR_APPENDS };
}

type Paces = Record<string, Pace[]>;

function note(paces: Paces, name: string, pace: Pace): void {
  paces[name] = [...(paces[name] ?? []), pace];
}

interface Node {
  readonly url: string;
  stop(): Promise<void>;
}

type Load = (keyPrefix: string, requests?: number) => Promise<Pace>;

/** A service of its own on a node, and how fast it takes requests. */
function serveLoad(fresh: FreshStore, work: (load: Load) => Promise<void>): Promise<void> {
  return serveOn(fresh, { DELIVERY: "off" }, ({ url, apiKey, pid }) =>
    work(async (keyPrefix, requests = REQUESTS_PER_TURN) => {
      const before = cpuUsOf(pid);
      const load = { url, apiKey, connections: CONNECTIONS, requests, keyPrefix };
      const { perSecond, refused } = await httpLoad(load);
      if (refused > 0) throw new Error(`${refused} requests were refused`);
      return { perSecond, cpuUs: (cpuUsOf(pid) - before) / requests };
    }),
  );
}

async function measureNode({ url, stop }: Node, turns: number): Promise<Paces> {
  const fresh = await freshStoreOn(url, stop);
  const paces: Paces = {};
  try {
    await serveLoad(fresh, async (load) => {
      await load("warm-up", WARM_REQUESTS);
      for (let turn = 0; turn < turns; turn += 1) {
        note(paces, VENDOR, await vendorAppends(url));
        note(paces, SEND, await load(`turn-${turn}`));
        note(paces, REPLAY, await load(`turn-${turn}`));
      }
    });
    // A service that has just started knows of no message, so it asks the log.
    await serveLoad(fresh, async (load) => {
      await load("second warm-up", WARM_REQUESTS);
      for (let turn = 0; turn < turns; turn += 1) {
        note(paces, SEND_BESIDE, await load(`beside-${turn}`));
        note(paces, OTHERS_REPLAY, await load(`turn-${turn}`));
      }
    });
    return paces;
  } finally {
    await fresh.remove();
  }
}

function tell(report: Report, node: string, paces: Paces): void {
  const store = "eventstoredb";
  for (const [what, taken] of Object.entries(paces)) {
    const name = `${node} node: ${what}`;
    const perSecond = median(taken.map((pace) => pace.perSecond));
    add(report, { name, store, unit: "requests/s", value: perSecond });
    const cpuUs = median(taken.map((pace) => pace.cpuUs));
    add(report, { name: `${name}, processor time`, store, unit: "µs", value: cpuUs });
  }
  const ratio = (one: string, other: string) =>
    median(
      (paces[one] ?? []).map(({ perSecond }, turn) => perSecond / (paces[other]?.[turn]?.perSecond ?? 0)),
    );
  addRatio(report, `send_vs_vendor_batch_${node}`, ratio(SEND, VENDOR));
  addRatio(report, `replay_vs_send_${node}`, ratio(REPLAY, SEND));
  addRatio(report, `replay_of_another_vs_send_${node}`, ratio(OTHERS_REPLAY, SEND_BESIDE));
}

/**
 * Sends and replays beside the vendor's own batch appends on the same node, in turns, with medians, on a node that
 * `start` starts.
 */
function onNode(name: string, start: typeof startEventStoreDb): Bench {
  return async (store, report, { turns }) => {
    if (store.name !== "eventstoredb") return;
    const { url, process } = await start();
    tell(report, name, await measureNode({ url, stop: process.kill }, turns));
  };
}

/** Without TLS and users. */
export const insecureNode = onNode("insecure", startEventStoreDb);
/** With TLS and a user. */
export const securedNode = onNode("secured", startSecuredEventStoreDb);

/** Both kinds of node. */
export const nodes: Bench = async (store, report, options) => {
  await insecureNode(store, report, options);
  await securedNode(store, report, options);
};

if (import.meta.main) {
  process.stdout.write(JSON.stringify(await generate(process.argv[2] ?? "")));
  process.exit();
}
