import { type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { CONTENT_STORE_FILES } from "../../kernel/contentPath.ts";
import { isEmbedded, LOG_FILES, logDirectory } from "../../service/adapters/openStore.ts";
import type { Config } from "../../service/config/config.ts";
import { ConfigError } from "../../service/config/configError.ts";

/** The fixed file names in DATA_DIR that a service or a command may read or write. */
const IN_DATA_DIR = [
  "lock.db",
  "master.key",
  "bootstrap.key",
  "service.id",
  "service.json",
  "erased-content.json",
  "projections/catalog.db",
];

type Locations = Pick<Config, "dataDir" | "storeUrl" | "content">;

function ownFiles(config: Locations): readonly string[] {
  const { dataDir, content } = config;
  return [
    ...IN_DATA_DIR.map((name) => join(dataDir, name)),
    ...(content.kind === "directory" ? CONTENT_STORE_FILES.map((name) => join(content.directory, name)) : []),
    ...(isEmbedded(config) ? LOG_FILES.map((name) => join(logDirectory(config), name)) : []),
  ];
}

function kindOf(found: Stats): string {
  if (found.isDirectory()) return "directory";
  if (found.isFIFO()) return "named pipe";
  return found.isSocket() ? "socket" : "device";
}

/** What is at a path, links followed; null if it cannot be looked at: opening it will say why. */
function lookAt(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

/**
 * Throws {@link ConfigError} if something else has the name of one of our files. Opening a named pipe would wait for
 * ever, and SQLite would only say that it cannot open a file.
 */
export function requireRegularFiles(config: Locations): void {
  for (const path of ownFiles(config)) {
    const found = lookAt(path);
    if (found === null || found.isFile()) continue;
    throw new ConfigError([`${path} cannot be used: there is a ${kindOf(found)} of that name`]);
  }
}
