import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventStoreDb } from "./eventstoredb.ts";

/** A store that a suite runs on. */
export interface TestStore {
  readonly name: "SQLite" | "EventStoreDB";
  /** What a service is started with, on top of its own DATA_DIR, to be on this store. */
  readonly env: Readonly<Record<string, string>>;
  /** One log for all services of all suites: each test keeps to its own workspaces. */
  readonly isShared: boolean;
}

/** The key of every instance on a shared log. It guards nothing. */
const SHARED_MASTER_KEY = Buffer.alloc(32, "postledger-test").toString("base64");

/** The embedded store, which is always there. */
export const sqliteStore: TestStore = { name: "SQLite", env: {}, isShared: false };

/**
 * The stores that suites run on: SQLite always, EventStoreDB when there is one; when there is none, that has
 * been said. The content directory goes with the server, because the log remembers which one it was begun with.
 */
export async function testStores(): Promise<readonly TestStore[]> {
  const server = await eventStoreDb();
  if (server === null) return [sqliteStore];
  const contentDirectory = join(server.folder ?? join(tmpdir(), `postledger-test-${server.port}`), "content");
  mkdirSync(contentDirectory, { recursive: true });
  const env = {
    STORE_URL: server.url,
    MASTER_KEY: SHARED_MASTER_KEY,
    CONTENT_URL: `file:${contentDirectory}`,
  };
  return [sqliteStore, { name: "EventStoreDB", env, isShared: true }];
}
