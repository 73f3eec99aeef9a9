import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import { systemErrorText } from "../../kernel/text/systemErrorText.ts";
import { isEmbedded, logDirectory, logPath, RESTORING } from "../../service/adapters/openStore.ts";
import type { Config } from "../../service/config/config.ts";
import { ConfigError } from "../../service/config/configError.ts";
import { MISSING_LOG_REMEDY } from "../../service/openInstanceFromConfig.ts";
import { CommandFailure } from "./command.ts";

const HOW = `\`${POSTLEDGER} serve\` makes one. If yours is elsewhere, set DATA_DIR to it: DATA_DIR=/path/to/data ${POSTLEDGER} …`;

/** Where a log may be begun only on purpose, one that is missing is more likely lost. */
function howToGetOne({ storeCreateIfMissing }: Pick<Config, "storeCreateIfMissing">): string {
  return storeCreateIfMissing ? HOW : MISSING_LOG_REMEDY;
}

/** Whether the file exists. Throws if this user may not look into its directory: it could be there. */
function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if ((error as { code?: unknown }).code !== "EACCES") return false;
    const fault = systemErrorText(error);
    throw new ConfigError([`${dirname(path)} cannot be used: ${fault}. Run this as the service's user`]);
  }
}

/** Throws {@link CommandFailure} if there is no data directory or log: a command must not create what it only reads. */
export function requireDataDirectory(config: Config): void {
  const { dataDir } = config;
  if (!isThere(dataDir)) {
    throw new CommandFailure("no_data", `there is no data directory at ${dataDir}`, howToGetOne(config));
  }
  if (!isEmbedded(config)) return;
  const directory = logDirectory(config);
  // Opening the log reports an interrupted restore.
  if (isThere(logPath(config)) || existsSync(join(directory, RESTORING))) return;
  throw new CommandFailure("no_data", `there is no log in ${directory}`, howToGetOne(config));
}

/** Throws the error for a store that has never been written to. */
export function refuseEmptyStore(config: Config): never {
  throw new CommandFailure("no_data", "there is no log in the store of STORE_URL yet", howToGetOne(config));
}
