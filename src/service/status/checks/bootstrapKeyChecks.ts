import type { EventStore } from "../../../ports/eventStore.ts";
import {
  bootstrapKeyDetail,
  bootstrapKeyPath,
  bootstrapKeyRemedy,
  readBootstrapKey,
} from "../../bootstrapWorkspace.ts";
import type { Config } from "../../config/config.ts";
import { type Check, warning } from "./check.ts";

/** A warning for as long as the key of a first run is in its file. */
export async function bootstrapKeyChecks(
  { dataDir }: Pick<Config, "dataDir">,
  store: EventStore,
): Promise<readonly Check[]> {
  const name = "first key";
  const key = await readBootstrapKey(store, dataDir);
  if (key === null) return [];
  return key.isRevoked
    ? [warning(name, `${bootstrapKeyPath(dataDir)} holds a key that is revoked`, "delete the file")]
    : [warning(name, bootstrapKeyDetail(dataDir), bootstrapKeyRemedy(key))];
}
