import { BOOTSTRAP_KEY_REMEDY, bootstrapKeyDetail, hasBootstrapKey } from "../../bootstrapWorkspace.ts";
import type { Config } from "../../config/config.ts";
import { type Check, warning } from "./check.ts";

/** A warning for as long as the key of a first run is in its file. */
export function bootstrapKeyChecks({ dataDir }: Pick<Config, "dataDir">): readonly Check[] {
  if (!hasBootstrapKey(dataDir)) return [];
  return [warning("first key", bootstrapKeyDetail(dataDir), BOOTSTRAP_KEY_REMEDY)];
}
