import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import { readOrCreate } from "../adapters/durableFiles/durableFile.ts";
import { sqliteReadDatabases } from "../adapters/sqlite/readModelDatabases.ts";
import { instanceAggregate } from "../commands/aggregateDefinitions.ts";
import { bindContentStore, requireUnboundContentStore } from "../commands/instance/bindContentStore.ts";
import { holdAfterLoss } from "../commands/instance/holdAfterLoss.ts";
import { type OpenInstance, openInstance } from "../commands/instance/openInstance.ts";
import { requireLogFormat } from "../commands/instance/requireLogFormat.ts";
import { load } from "../commands/transact.ts";
import { INSTANCE_STREAM } from "../domain/instance/events.ts";
import { invariant } from "../kernel/assert.ts";
import { FOLDER_MODE } from "../kernel/fileModes.ts";
import { POSTLEDGER } from "../kernel/text/cliInvocation.ts";
import type { ContentStore } from "../ports/contentStore.ts";
import type { EventStore } from "../ports/eventStore.ts";
import { areReadModelsAhead } from "../readModels/generations/logCutShort.ts";
import { isEmbedded, logDirectory, logPath } from "./adapters/openStore.ts";
import type { Config } from "./config/config.ts";
import { ConfigError } from "./config/configError.ts";
import { parseMasterKey } from "./config/masterKeyConfig.ts";
import { readModelDirectory } from "./config/storeConfig.ts";
import { contentError, fileError, lostContentError, storeError } from "./faults/startupErrors.ts";
import { systemCommandContext } from "./systemCommandContext.ts";
import { LOG_CUT_SHORT } from "./threads/readModelLogLines.ts";

export interface OpenLogOptions {
  /**
   * Whether events will be appended: then a log of a newer format than ours is refused, and an older one gets ours, which
   * older versions refuse.
   */
  readonly writes?: boolean;
  /**
   * Makes the log open also while its content store is away, and is told why that cannot be used. One that is there must
   * be the log's own all the same.
   */
  readonly onContentAway?: (fault: Error) => void;
  /** Whether a log is begun where there is none; otherwise that is refused. By default it is begun. */
  readonly createsIfMissing?: boolean;
}

/** Checks that the settings belong to the log, and opens its keys. Throws what `openInstance` throws. */
export async function openInstanceFromConfig(
  config: Config,
  store: EventStore,
  content: ContentStore,
  { writes = false, createsIfMissing = true, onContentAway }: OpenLogOptions,
): Promise<OpenInstance> {
  // Try both, because a server may let a user read one and not the other.
  const [revision] = await Promise.all([store.lastRevision(INSTANCE_STREAM), store.head()]).catch(
    (error: unknown) => {
      throw storeError(config, error);
    },
  );
  if (revision === null && !createsIfMissing) throw missingLogError(config);
  const masterKey = config.masterKey ?? (await ownMasterKey(config.dataDir, store));
  const contentStoreId = await contentStoreIdOf(config, store, content, revision === null).catch(
    (fault: Error) => {
      if (revision === null || onContentAway === undefined) throw fault;
      onContentAway(fault);
      return null;
    },
  );
  const claims = { masterKey, masterKeyPrevious: config.masterKeyPrevious, contentStoreId };
  if (contentStoreId !== null)
    await requireUnboundContentStore(
      content,
      async () => (await store.lastRevision(INSTANCE_STREAM)) !== null,
    );
  const opened = await openInstance(store, claims, systemCommandContext("system"));
  if (contentStoreId !== null) await bindContentStore(content, opened.logId);
  if (writes) await requireLogFormat(store, opened.format, systemCommandContext("system"));
  return opened;
}

/** Only a new log creates its content store. Beside a log that has one, an empty one would hide that it is lost. */
async function contentStoreIdOf(
  config: Config,
  store: EventStore,
  content: ContentStore,
  isNew: boolean,
): Promise<string> {
  // Try both, because either can be unavailable by itself.
  const identify = isNew ? content.create : content.identity;
  const [id] = await Promise.all([identify(), content.claimedBy()]).catch((error: unknown) => {
    throw contentError(config, error);
  });
  if (id === null) throw await lostContent(config, store);
  return id;
}

/**
 * Opens the instance for a service. A log that lacks events which the read models of DATA_DIR hold is held first, and is
 * another incarnation from then on. Until that is on disk the read models stay as they are, so a start that is killed
 * before is repeated. Throws as {@link openInstanceFromConfig}.
 */
export async function openInstanceOfService(
  config: Config,
  store: EventStore,
  content: ContentStore,
  logger: Logger,
): Promise<OpenInstance> {
  const createsIfMissing = config.storeCreateIfMissing;
  const opened = await openInstanceFromConfig(config, store, content, { writes: true, createsIfMissing });
  const files = { databases: sqliteReadDatabases, directory: readModelDirectory(config) };
  if (!(await areReadModelsAhead(store, files, opened.incarnations))) return opened;
  const outcome = await holdAfterLoss(store, opened.incarnation, systemCommandContext("system"));
  if (outcome === "held") logger.error(LOG_CUT_SHORT);
  return openInstanceFromConfig(config, store, content, { writes: true });
}

async function lostContent({ content }: Config, store: EventStore): Promise<Error> {
  const { state } = await load(store, instanceAggregate);
  invariant(state, "the instance stream begins with InstanceCreated");
  return lostContentError(content, state.contentStoreId);
}

/** What to do where there is no log and no service may begin one: the disk of the one that there was may be away. */
export const MISSING_LOG_REMEDY = `mount its disk, set DATA_DIR or STORE_URL to where it is, or restore a backup. In a new installation, \`${POSTLEDGER} workspace create <name>\` begins one`;

function missingLogError(config: Config): ConfigError {
  const place = isEmbedded(config) ? logDirectory(config) : "the store of STORE_URL";
  return new ConfigError([
    `there is no log in ${place}, and STORE_CREATE_IF_MISSING is off: ${MISSING_LOG_REMEDY}`,
  ]);
}

/** Refuses to start a service before it leaves anything in DATA_DIR, where it would find no log and may create none. */
export function requireLogFile(config: Config): void {
  const isThere = !isEmbedded(config) || config.storeCreateIfMissing || existsSync(logPath(config));
  if (!isThere) throw missingLogError(config);
}

/** Refuses to create the file of a log on another log's content store, so that a refused start leaves none behind. */
export function requireUnboundBeforeCreation(config: Config, content: ContentStore): () => Promise<void> {
  return async () => {
    await requireUnboundContentStore(content, async () => existsSync(logPath(config))).catch(
      (error: unknown) => {
        throw contentError(config, error);
      },
    );
  };
}

/** The same for a service, which creates a log only if STORE_CREATE_IF_MISSING lets it. */
export function requireCreatableByService(config: Config, content: ContentStore): () => Promise<void> {
  const requireUnbound = requireUnboundBeforeCreation(config, content);
  return async () => {
    await requireUnbound();
    if (!config.storeCreateIfMissing) throw missingLogError(config);
  };
}

/** The embedded store's own master key, created at the first start in a file that only its owner can read. */
async function ownMasterKey(dataDir: string, store: EventStore): Promise<Uint8Array> {
  const path = join(dataDir, "master.key");
  if (!existsSync(path) && (await store.lastRevision(INSTANCE_STREAM)) !== null) {
    throw new ConfigError([`${path} is missing: put the log's own there, or set MASTER_KEY to it`]);
  }
  await mkdir(dataDir, { recursive: true, mode: FOLDER_MODE });
  const create = () => crypto.getRandomValues(new Uint8Array(32)).toBase64();
  const text = await readOrCreate(path, create).catch((error: unknown) => {
    throw fileError(path, error);
  });
  const key = parseMasterKey(text);
  if (key === null)
    throw new ConfigError([`${path} does not hold 32 bytes in base64: restore it from a backup`]);
  return key;
}
