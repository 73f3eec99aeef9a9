import { join } from "node:path";
import { projections } from "../../projections/index.ts";
import { sqliteReadDatabases } from "../../src/adapters/sqlite/readModelDatabases.ts";
import { followReadModels } from "../../src/readModels/follow/followReadModels.ts";
import { openStore } from "../../src/service/adapters/openStore.ts";
import { sampleEvents } from "./append.ts";
import { onFresh } from "./benchService.ts";
import type { BenchStore } from "./benchStores.ts";
import { seededRandom } from "./httpLoad.ts";
import { add, type Report } from "./report.ts";

/** As many as a busy service accepts: the follower is to keep up, not to catch up. */
const SENDS_PER_SECOND = { sqlite: 4_000, eventstoredb: 500 };
const SECONDS = 12;
/** One group commit of a busy service. */
const BATCH_SENDS = 24;
const STORE_TIMEOUT_MS = 10_000;

interface Appending {
  readonly storeUrl: string;
  readonly sends: number;
  readonly perSecond: number;
}

/** Appends sends at a steady pace, each batch in one group commit. */
async function appendSteadily({ storeUrl, sends, perSecond }: Appending): Promise<void> {
  const store = await openStore({ storeUrl, storeTimeoutMs: STORE_TIMEOUT_MS });
  const random = seededRandom(2);
  const workspaceId = crypto.randomUUID();
  const startedAt = performance.now();
  for (let done = 0; done < sends; done += BATCH_SENDS) {
    const batch = Array.from({ length: BATCH_SENDS }, () =>
      store.append(`email-${crypto.randomUUID()}`, sampleEvents(random, { workspaceId }), "noStream"),
    );
    await Promise.all(batch);
    await Bun.sleep(Math.max(0, startedAt + ((done + BATCH_SENDS) / perSecond) * 1_000 - performance.now()));
  }
  await store.close();
}

/** What it costs to keep the read models at the head of the log while sends come, in a process that does nothing else. */
export async function follow(store: BenchStore, report: Report): Promise<void> {
  await onFresh(store, async ({ env, open }) => {
    const log = await open();
    const stop = new AbortController();
    const sends = SECONDS * SENDS_PER_SECOND[store.name];
    const directory = join(env.DATA_DIR as string, "projections");
    let announced = "";
    const following = followReadModels({
      ...{ databases: sqliteReadDatabases, directory, logId: "bench", store: log, projections },
      onEvent: (event) => {
        if (event.type === "progress") announced = event.position;
      },
      signal: stop.signal,
    });
    const appending: Appending = {
      storeUrl: env.STORE_URL as string,
      sends,
      perSecond: SENDS_PER_SECOND[store.name],
    };
    const before = process.cpuUsage();
    const child = Bun.spawn([process.execPath, import.meta.path, JSON.stringify(appending)], {
      stdin: "ignore",
      stdout: "inherit",
      stderr: "inherit",
    });
    if ((await child.exited) !== 0) throw new Error("the appender failed");
    const head = await log.head();
    while (announced < head) await Bun.sleep(1);
    const { user, system } = process.cpuUsage(before);
    add(report, {
      name: "follow",
      store: store.name,
      unit: "µs of processor time/send",
      value: (user + system) / sends,
    });
    stop.abort();
    await following;
    await log.close();
  });
}

if (import.meta.main) await appendSteadily(JSON.parse(process.argv[2] ?? "{}") as Appending);
