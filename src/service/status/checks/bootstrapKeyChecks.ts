import type { EventStore } from "../../../ports/eventStore.ts";
import {
  type BootstrapKey,
  bootstrapKeyDetail,
  bootstrapKeyPath,
  bootstrapKeyRemedy,
  readBootstrapKey,
} from "../../bootstrapWorkspace.ts";
import type { Config } from "../../config/config.ts";
import { type Check, warning } from "./check.ts";

/** A warning for as long as the key of a first run is in its file. */
export function bootstrapKeyCheck(key: BootstrapKey, file: string): Check {
  const name = "first key";
  return key.isRevoked
    ? warning(name, `${file} holds a key that is revoked`, "delete the file")
    : warning(name, bootstrapKeyDetail(file), bootstrapKeyRemedy(key));
}

/** That warning, if there is such a file. */
export async function bootstrapKeyChecks(
  { dataDir }: Pick<Config, "dataDir">,
  store: EventStore,
): Promise<readonly Check[]> {
  const key = await readBootstrapKey(store, dataDir);
  return key === null ? [] : [bootstrapKeyCheck(key, bootstrapKeyPath(dataDir))];
}
