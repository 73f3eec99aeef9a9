import { resolve } from "node:path";
import { isEmbedded, logDirectory } from "../../service/adapters/openStore.ts";
import type { Config } from "../../service/config/config.ts";

type Location = Pick<Config, "dataDir" | "storeUrl">;

/** Whether the embedded log has another directory than DATA_DIR. */
export function isLogElsewhere(config: Location): boolean {
  return isEmbedded(config) && resolve(logDirectory(config)) !== config.dataDir;
}

/** Where an installation is, for people. */
export function dataLocation(config: Location): string {
  if (!isEmbedded(config)) return `${config.dataDir} (the log is on EventStoreDB)`;
  if (isLogElsewhere(config)) return `${config.dataDir} (the log is in ${resolve(logDirectory(config))})`;
  return `${config.dataDir} (the log is a file in it)`;
}

/** The first line of a command whose DATA_DIR must not be mistaken for another one. */
export function dataLocationLine(config: Location): string {
  return `DATA_DIR ${dataLocation(config)}`;
}
