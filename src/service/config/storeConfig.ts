import { join, resolve } from "node:path";
import { MINUTE_MS } from "../../kernel/time.ts";
import type { EnvironmentReader } from "./environmentReader.ts";

export const DATA_DIR_DEFAULT = "./data";
const DISK_FREE_BYTES_MIN_DEFAULT = 256 * 1_024 * 1_024;

/** Where the log is, and what this machine keeps beside it. */
export type StoreConfig = Readonly<ReturnType<typeof readStoreConfig>>;

export function readStoreConfig(reader: EnvironmentReader) {
  const dataDir = resolve(reader.text("DATA_DIR", DATA_DIR_DEFAULT));
  return {
    dataDir,
    /** Below this many free bytes on the disk of DATA_DIR, sends are refused. */
    diskFreeBytesMin: reader.integer("DISK_FREE_BYTES_MIN", DISK_FREE_BYTES_MIN_DEFAULT, {
      min: 0,
      max: 2 ** 50,
    }),
    /** `file:<directory>`, or a connection string of EventStoreDB. */
    storeUrl: storeUrl(reader, dataDir),
    /** Whether a service that finds no log begins one. */
    storeCreateIfMissing: reader.flag("STORE_CREATE_IF_MISSING", true),
    storeTimeoutMs: reader.integer("STORE_TIMEOUT_MS", 5_000, { min: 100, max: MINUTE_MS }),
    /** Pages of the embedded log that the service keeps in memory, in KiB. */
    storeCacheKib: reader.integer("STORE_CACHE_MIB", 4, { min: 1, max: 65_536 }) * 1_024,
  };
}

export function readModelDirectory({ dataDir }: Pick<StoreConfig, "dataDir">): string {
  return join(dataDir, "projections");
}

/**
 * The parameters allowed in an EventStoreDB connection string. The client ignores all others, tlsVerifyCert too, with
 * a warning that shows the whole string, password included.
 */
const STORE_PARAMETERS: ReadonlySet<string> = new Set(
  [
    ...["tls", "tlsCAFile", "userCertFile", "userKeyFile", "nodePreference", "connectionName"],
    ...["keepAliveInterval", "keepAliveTimeout", "maxDiscoverAttempts", "discoveryInterval", "gossipTimeout"],
    ...["dnsDiscover", "defaultDeadline", "throwOnAppendFailure"],
  ].map((name) => name.toLowerCase()),
);

/** The error for a `file:` URL that names no directory. */
export function namesNoDirectory(variable: string): string {
  return `${variable} must name a directory after file:, such as file:/var/lib/postledger`;
}

function storeUrl(reader: EnvironmentReader, dataDir: string): string {
  const url = reader.secret("STORE_URL") ?? `file:${dataDir}`;
  if (!/^(file:|esdb(\+discover)?:\/\/)/.test(url))
    reader.errors.push("STORE_URL must begin with file: or esdb://");
  if (url === "file:") reader.errors.push(namesNoDirectory("STORE_URL"));
  const parameters = url.startsWith("esdb") ? new URLSearchParams(url.replace(/^[^?]*/, "")).keys() : [];
  const unknown = [...parameters].find((name) => !STORE_PARAMETERS.has(name.toLowerCase()));
  if (unknown !== undefined) {
    reader.errors.push(
      `STORE_URL must not have the parameter ${JSON.stringify(unknown)}: those it can have are tls, tlsCAFile, userCertFile, userKeyFile, nodePreference, keepAliveInterval, keepAliveTimeout and the like`,
    );
  }
  return url;
}
