import type { EventStore } from "../../../ports/eventStore.ts";
import {
  BOOTSTRAP_KEY_REMEDY,
  bootstrapKeyDetail,
  bootstrapKeyPath,
  bootstrapKeyStatus,
} from "../../bootstrapWorkspace.ts";
import type { Config } from "../../config/config.ts";
import { type Check, warning } from "./check.ts";

/** A warning for as long as the key of a first run is in its file. */
export async function bootstrapKeyChecks(
  { dataDir }: Pick<Config, "dataDir">,
  store: EventStore,
): Promise<readonly Check[]> {
  const name = "first key";
  switch (await bootstrapKeyStatus(store, dataDir)) {
    case "absent":
      return [];
    case "there":
      return [warning(name, bootstrapKeyDetail(dataDir), BOOTSTRAP_KEY_REMEDY)];
    case "revoked":
      return [warning(name, `${bootstrapKeyPath(dataDir)} holds a key that is revoked`, "delete the file")];
  }
}
