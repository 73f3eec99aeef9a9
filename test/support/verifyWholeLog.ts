import { join } from "node:path";
import { sqliteReadDatabases } from "../../src/adapters/sqlite/readModelDatabases.ts";
import { type LogVerification, verifyLog } from "../../src/commands/audit/verify/verifyLog.ts";
import type { EventStore } from "../../src/ports/eventStore.ts";
import { temporaryFolder } from "./temporaryFolder.ts";

/** What a verification of a log finds that has nothing to go by but the log itself. */
export function verifyWholeLog(store: EventStore): Promise<LogVerification> {
  return verifyLog({
    store,
    databases: sqliteReadDatabases,
    temporaryPath: join(temporaryFolder(), "scratch.db"),
    trusted: [],
    kept: null,
    signal: new AbortController().signal,
  });
}
