import { sqliteReadDatabases } from "../../../src/adapters/sqlite/readModelDatabases.ts";
import { rebuildReadModels } from "../../../src/readModels/rebuildReadModels.ts";
import { openTallyStore, tallyOf } from "./rebuildLog.ts";

/** Long enough for the parent to see that something was saved, and to kill. */
const SAVE_INTERVAL_MS = 15;

/** A process that rebuilds, saves often, and can be killed: `<directory> <run>`; the store is in the environment. */
const [directory = "", run = ""] = process.argv.slice(2);
const store = await openTallyStore(process.env.STORE_URL ?? "");
const results = await rebuildReadModels({
  databases: sqliteReadDatabases,
  directory,
  logId: "log-1",
  store,
  projections: [tallyOf(run)],
  owner: true,
  saveEveryMs: 0,
  onProgress: () => Bun.sleepSync(SAVE_INTERVAL_MS),
  signal: new AbortController().signal,
});
await store.close();
process.stdout.write(JSON.stringify(results));
process.exit(0);
