import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Projection } from "../../projections/projection.ts";
import { sqliteReadDatabases } from "../../src/adapters/sqlite/readModelDatabases.ts";
import type { EventStore } from "../../src/ports/eventStore.ts";
import { followReadModels } from "../../src/readModels/follow/followReadModels.ts";
import { openReaders, type Readers } from "../../src/readModels/readModelReaders.ts";

const CAUGHT_UP_MS_MAX = 50_000;

/** A worker of an instance, from `start` to `stop`. */
interface Worker {
  start(): void;
  /** A read model has advanced. */
  wake?(): void;
  stop(graceMs: number): Promise<unknown>;
}

export interface TestInstanceOptions {
  readonly store: EventStore;
  readonly projections: readonly Projection[];
  /** Its workers, which start once the read models have caught up. */
  readonly workersOf: (readers: Readers) => readonly Worker[];
}

/** An instance on a log: its own read models in a temporary directory, and its workers. */
export interface TestInstance {
  readonly readers: Readers;
  readonly storage: {
    readonly databases: typeof sqliteReadDatabases;
    readonly directory: string;
    readonly projections: readonly Projection[];
  };
  /** Aborts when it is stopped. */
  readonly signal: AbortSignal;
  wake(): void;
  /** Whether its read models reach the log's current head in time. */
  isCaughtUp(): Promise<boolean>;
  /** Waits for that. Throws if they do not. */
  caughtUp(): Promise<void>;
  /** Repeated calls have no further effect. */
  stop(graceMs?: number): Promise<void>;
}

export async function startTestInstance(options: TestInstanceOptions): Promise<TestInstance> {
  const { store, projections, workersOf } = options;
  const directory = mkdtempSync(join(tmpdir(), "postledger-test-instance-"));
  const storage = { databases: sqliteReadDatabases, directory, projections };
  const readers = openReaders(storage);
  const workers = workersOf(readers);
  const stopping = new AbortController();
  const wake = () => {
    for (const worker of workers) worker.wake?.();
  };
  const following = followReadModels({
    ...storage,
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
    const reached = projections.map(({ name }) => readers.waitForPosition(name, head, CAUGHT_UP_MS_MAX));
    return (await Promise.all(reached)).every((hasReached) => hasReached);
  };
  const caughtUp = async () => {
    if (!(await isCaughtUp())) throw new Error("the read models did not catch up");
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
    storage,
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
