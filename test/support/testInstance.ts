import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Projection } from "../../projections/projection.ts";
import { sqliteReadDatabases } from "../../src/adapters/sqlite/readModelDatabases.ts";
import type { EventStore } from "../../src/ports/eventStore.ts";
import { followReadModels } from "../../src/readModels/follow/followReadModels.ts";
import { openReaders, type Readers } from "../../src/readModels/readModelReaders.ts";

const CAUGHT_UP_MS_MAX = 20_000;

/** What works on an instance, for as long as that runs. */
interface Work {
  start(): void;
  /** A read model has moved. */
  wake?(): void;
  stop(graceMs: number): Promise<unknown>;
}

export interface TestInstanceOptions {
  readonly store: EventStore;
  readonly projections: readonly Projection[];
  /** Begins once the read models hold the log as it is then. */
  readonly workOn: (readers: Readers) => readonly Work[];
}

/** An instance over a log: read models of its own in a temporary directory, and what works on them. */
export interface TestInstance {
  readonly readers: Readers;
  readonly place: {
    readonly databases: typeof sqliteReadDatabases;
    readonly directory: string;
    readonly projections: readonly Projection[];
  };
  /** Aborts when it is stopped. */
  readonly signal: AbortSignal;
  wake(): void;
  /** Whether its read models came to hold the log as it is now. */
  isCaughtUp(): Promise<boolean>;
  /** Waits for that. Throws when they stand still. */
  caughtUp(): Promise<void>;
  /** Twice is once. */
  stop(graceMs?: number): Promise<void>;
}

export async function startTestInstance(options: TestInstanceOptions): Promise<TestInstance> {
  const { store, projections, workOn } = options;
  const directory = mkdtempSync(join(tmpdir(), "postledger-test-instance-"));
  const place = { databases: sqliteReadDatabases, directory, projections };
  const readers = openReaders(place);
  const workers = workOn(readers);
  const stopping = new AbortController();
  const wake = () => {
    for (const worker of workers) worker.wake?.();
  };
  const following = followReadModels({
    ...place,
    store,
    logId: "log",
    retryMs: 1,
    signal: stopping.signal,
    onEvent(event) {
      readers.receive(event);
      wake();
    },
  });
  const isCaughtUp = async () => {
    const head = await store.head();
    const all = projections.map(({ name }) => readers.waitForPosition(name, head, CAUGHT_UP_MS_MAX));
    return (await Promise.all(all)).every((isThere) => isThere);
  };
  const caughtUp = async () => {
    if (!(await isCaughtUp())) throw new Error("the read models stand still");
  };
  await caughtUp();
  for (const worker of workers) worker.start();
  let stopped: Promise<void> | undefined;
  const stop = async (graceMs: number) => {
    await Promise.all(workers.map((worker) => worker.stop(graceMs)));
    stopping.abort();
    await following;
    readers.close();
    rmSync(directory, { recursive: true, force: true });
  };
  return {
    readers,
    place,
    signal: stopping.signal,
    wake,
    isCaughtUp,
    caughtUp,
    stop(graceMs = 5_000) {
      stopped ??= stop(graceMs);
      return stopped;
    },
  };
}
