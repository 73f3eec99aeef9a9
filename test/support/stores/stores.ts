import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventStoreDb } from "./eventstoredb.ts";

/** A store that a suite runs on. */
export interface TestStore {
  readonly name: "SQLite" | "EventStoreDB";
  /** The settings that put a service on this store, in addition to its own DATA_DIR. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether all services of all suites share one log, so that each test must use its own workspaces. */
  readonly isShared: boolean;
}

/** The master key of every instance on a shared log. It protects nothing of value. */
const SHARED_MASTER_KEY = Buffer.alloc(32, "postledger-test").toString("base64");

/** The embedded store, which is always available. */
export const sqliteStore: TestStore = { name: "SQLite", env: {}, isShared: false };

/**
 * The stores that suites run on: always SQLite, and EventStoreDB if it is available. The content directory belongs to the
 * server, because the log remembers its content store.
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
