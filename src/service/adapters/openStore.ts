import { accessSync, constants, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { lagEstimate } from "../../adapters/eventstoredb/lagEstimate.ts";
import { eventsBetween as positionsBetween } from "../../adapters/sqlite/logPosition.ts";
import { requireFileOfWriteAheadLog } from "../../adapters/sqlite/openLogDatabase.ts";
import {
  openSqliteEventStore,
  type SqliteEventStoreOptions,
} from "../../adapters/sqlite/sqliteEventStore.ts";
import { isInOwnStream, typesInStream } from "../../domain/streamNames.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import { MINUTE_MS } from "../../kernel/time.ts";
import { type EventStore, type Position, StoreError } from "../../ports/eventStore.ts";
import type { Config } from "../config/config.ts";
import { ConfigError } from "../config/configError.ts";
import {
  connectionStringError,
  directoryError,
  requireEncodedUser,
  storeError,
} from "../faults/startupErrors.ts";

/** Whether the log is a file on this machine rather than a server's. */
export function isEmbedded({ storeUrl }: Pick<Config, "storeUrl">): boolean {
  return storeUrl.startsWith("file:");
}

export function logPath({ storeUrl }: Pick<Config, "storeUrl">): string {
  return join(storeUrl.slice("file:".length), LOG_FILE);
}

export function logDirectory(config: Pick<Config, "storeUrl">): string {
  return dirname(logPath(config));
}

/** About how many events of the log lie after one position up to another. Reads nothing. */
export function eventsBetween(config: Pick<Config, "storeUrl">, from: Position, to: Position): number {
  return isEmbedded(config) ? positionsBetween(from, to) : lagEstimate(from, to);
}

export interface OpenStoreOptions
  extends Pick<SqliteEventStoreOptions, "cacheKib" | "evenIfFaulty" | "writingThreads" | "onDamage"> {
  /**
   * Appends reach the log in the order of the calls, although none waits for the one before. For a process that only
   * imports a log.
   */
  readonly inOrder?: boolean;
  /** Called before the file of an embedded log is created. Throws if there must be none: then nothing is created. */
  readonly beforeCreation?: () => Promise<void>;
}

const LOG_FILE = "events.db";
/** The log's file, and those that SQLite keeps beside it while the log is open. */
export const LOG_FILES = [LOG_FILE, `${LOG_FILE}-wal`, `${LOG_FILE}-shm`];

export async function openStore(
  config: Pick<Config, "storeUrl" | "storeTimeoutMs">,
  options: OpenStoreOptions = {},
): Promise<EventStore> {
  const { storeUrl, storeTimeoutMs: timeoutMs } = config;
  // Always in order: its appends wait in line.
  if (isEmbedded(config)) return openEmbeddedStore(config, options);
  requireEncodedUser(storeUrl);
  // Loaded only if needed: the client and its gRPC stack would add a third of a second to each start.
  const { connectEventStoreDb } = await import("../../adapters/eventstoredb/eventStoreDb.ts");
  try {
    const { inOrder = false } = options;
    const isOwnStream = (stream: string) => typesInStream(stream) !== undefined;
    return await connectEventStoreDb({
      url: storeUrl,
      timeoutMs,
      inOrder,
      isOwn: isInOwnStream,
      isOwnStream,
    });
  } catch (error) {
    throw error instanceof StoreError ? storeError(config, error) : connectionStringError(error);
  }
}

async function openEmbeddedStore(
  config: Pick<Config, "storeUrl" | "storeTimeoutMs">,
  { evenIfFaulty = false, writingThreads = "caller", beforeCreation, ...options }: OpenStoreOptions,
): Promise<EventStore> {
  const { storeUrl, storeTimeoutMs: timeoutMs } = config;
  requireRestored(logDirectory(config));
  const path = logPath(config);
  requireFileOfWriteAheadLog(path);
  if (!existsSync(path)) await beforeCreation?.();
  try {
    // SQLite opens a log that it may only read, and then every append fails.
    if (writingThreads !== "caller" && existsSync(path)) accessSync(path, constants.W_OK);
    const store = openSqliteEventStore({ ...options, path, timeoutMs, evenIfFaulty, writingThreads });
    if (writingThreads !== "caller") await flushOrClose(store);
    return store;
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw directoryError({ variable: "STORE_URL", value: storeUrl, files: LOG_FILES }, error);
  }
}

/** Opens the log that a running service has open: in place of one that was removed, none is created. */
export function openStoreOfService(
  config: Pick<Config, "storeUrl" | "storeTimeoutMs">,
  options: Pick<OpenStoreOptions, "evenIfFaulty" | "onDamage"> = {},
): Promise<EventStore> {
  const beforeCreation = async () => {
    throw new StoreError("unavailable", `${logPath(config)} was removed`);
  };
  return openStore(config, { ...options, beforeCreation });
}

/** It rewrites the whole write-ahead log, which may be 128 MB and more, on a slow disk. */
const FIRST_FLUSH_MS_MAX = 2 * MINUTE_MS;

/** Flushes what a killed service left, so it is on disk before the next one acts on it. Throws `StoreError`. */
async function flushOrClose(store: EventStore): Promise<void> {
  try {
    await store.flush({ timeoutMs: FIRST_FLUSH_MS_MAX });
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Exists beside the log's file while a backup is being restored there. */
export const RESTORING = "restoring";

function requireRestored(directory: string): void {
  if (!existsSync(join(directory, RESTORING))) return;
  throw new ConfigError([
    `a restore into ${directory} was interrupted: run the same \`${POSTLEDGER} backup restore\` again`,
  ]);
}
