import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EventStore } from "../../src/ports/eventStore.ts";
import { openStore } from "../../src/service/adapters/openStore.ts";
import { canStartEventStoreDb, startEventStoreDb } from "../support/stores/eventstoredb.ts";

const STORE_TIMEOUT_MS = 10_000;

/** A store that figures are taken on. Each `fresh` one is empty and goes away with `remove`. */
export interface BenchStore {
  readonly name: "sqlite" | "eventstoredb";
  /** How many callers append at once: what group commit, or the server, is measured at. */
  readonly callers: number;
  fresh(): Promise<FreshStore>;
}

export interface FreshStore {
  readonly env: Readonly<Record<string, string>>;
  open(): Promise<EventStore>;
  remove(): Promise<void>;
}

const MASTER_KEY = Buffer.alloc(32, "postledger-bench").toString("base64");

/** What a service needs beside a store that was started for it; `stop` ends that. Without a URL it is a file. */
export async function freshStoreOn(url: string | null, stop: () => Promise<void>): Promise<FreshStore> {
  const directory = await mkdtemp(join(tmpdir(), "postledger-bench-"));
  const storeUrl = url ?? `file:${directory}`;
  return {
    env: { STORE_URL: storeUrl, MASTER_KEY, DATA_DIR: directory, BOOTSTRAP: "on" },
    open: () => openStore({ storeUrl, storeTimeoutMs: STORE_TIMEOUT_MS }),
    async remove() {
      await stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

const sqlite: BenchStore = {
  name: "sqlite",
  callers: 128,
  fresh: () => freshStoreOn(null, async () => {}),
};

const eventStoreDb: BenchStore = {
  name: "eventstoredb",
  callers: 32,
  async fresh() {
    const server = await startEventStoreDb();
    return freshStoreOn(server.url, server.process.kill);
  },
};

/** SQLite always; EventStoreDB when `eventstored` is on the PATH, and a line that says so when it is not. */
export function benchStores(): readonly BenchStore[] {
  if (canStartEventStoreDb) return [sqlite, eventStoreDb];
  process.stderr.write("EventStoreDB: no eventstored on the PATH: its figures are left out\n");
  return [sqlite];
}
