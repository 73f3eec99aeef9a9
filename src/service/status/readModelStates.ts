import { projections } from "../../../projections/index.ts";
import { sqliteReadDatabases } from "../../adapters/sqlite/readModelDatabases.ts";
import type { ReadModelState } from "../../http/dashboard/maintenance/maintenanceTasks.ts";
import { invariant } from "../../kernel/assert.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { unlessUnavailable } from "../../ports/readDatabase.ts";
import { behindSince } from "../../readModels/behindSince.ts";
import { lastVerifications } from "../../readModels/listReadModels.ts";
import type { ReaderStatus, Readers } from "../../readModels/readModelReaders.ts";
import type { Config } from "../config/config.ts";
import { readModelDirectory } from "../config/storeConfig.ts";

/** The status of the read models as the service knows it, with the result of their last verification. Never throws. */
export function readModelStates(
  config: Pick<Config, "dataDir">,
  { store }: { readonly store: EventStore },
  readers: Readers,
): () => Promise<readonly ReadModelState[]> {
  return async () => {
    const directory = readModelDirectory(config);
    // None while the catalog is busy; the next call finds them.
    const found = unlessUnavailable(() => lastVerifications(sqliteReadDatabases, directory)) ?? [];
    const verified = new Map(found.map((one) => [one.name, one]));
    const states = readers.status().map(async (status) => {
      const { name, state, isCaughtUp, failure } = status;
      const shown = { name, state, isCaughtUp, failure, behindSince: await lagOf(store, status) };
      return { ...shown, verified: verified.get(name) ?? null };
    });
    return Promise.all(states);
  };
}

async function lagOf(store: EventStore, { name, state, isCaughtUp, position }: ReaderStatus) {
  if (isCaughtUp || state === "absent") return null;
  const projection = projections.find((one) => one.name === name);
  invariant(projection, "what is read is one of ours");
  const since = await behindSince(store, projection, position);
  return since === "unknown" ? null : since;
}
