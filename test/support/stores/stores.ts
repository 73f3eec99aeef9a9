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

const sqlite: TestStore = { name: "SQLite", env: {}, isShared: false };

/**
 * The stores that suites run on: SQLite always, EventStoreDB when there is one; when there is none, that has
 * been said. The content directory goes with the server, because the log remembers which one it was begun with.
 */
export async function testStores(): Promise<readonly TestStore[]> {
  const server = await eventStoreDb();
  if (server === null) return [sqlite];
  const owner = server.process === null ? `${server.port}` : `${server.port}-${process.pid}`;
  const contentDirectory = join(tmpdir(), `postledger-test-content-${owner}`);
  mkdirSync(contentDirectory, { recursive: true });
  if (server.process !== null) removeAtEnd(contentDirectory);
  const env = {
    STORE_URL: server.url,
    MASTER_KEY: SHARED_MASTER_KEY,
    CONTENT_URL: `file:${contentDirectory}`,
  };
  return [sqlite, { name: "EventStoreDB", env, isShared: true }];
}

/** Removes the directory when this process has ended, however it does: the test runner runs no exit handlers. */
function removeAtEnd(directory: string): void {
  const held = globalThis as Record<symbol, unknown>;
  const name = Symbol.for(`test.remover ${directory}`);
  if (held[name] !== undefined) return;
  const remover = Bun.spawn(["sh", "-c", `trap '' INT; cat >/dev/null; rm -rf "$0"`, directory], {
    stdin: "pipe",
    stdout: "ignore",
    stderr: "ignore",
  });
  remover.unref();
  // Held for the life of the process, because a child that is collected takes its pipe with it.
  held[name] = remover;
}
