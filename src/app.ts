import { existsSync } from "node:fs";
import { join } from "node:path";
import type { AnyElysia } from "elysia";
import type { Logger } from "pino";
import { projections } from "../projections/index.ts";
import { isSuppressed } from "../projections/suppressions.ts";
import { liquidEngine } from "./adapters/liquidjs/liquidEngine.ts";
import { lockDirectory } from "./adapters/sqlite/directoryLock.ts";
import { sqliteReadDatabases } from "./adapters/sqlite/readDatabase.ts";
import { diskSpaceOf } from "./adapters/system/diskSpace.ts";
import { systemClock } from "./adapters/system/systemClock.ts";
import { recentEmails } from "./commands/recentEmails.ts";
import { makeServices } from "./commands/services.ts";
import { type Config, ConfigError } from "./config.ts";
import { basePathOf, makeControllers } from "./controllers.ts";
import { bootstrap, bootstrapKeyPath } from "./firstRun.ts";
import { listen, type RequestLine } from "./http/server.ts";
import { reasonOf } from "./kernel/reason.ts";
import { isEmbedded, openContentStore, openInspector, openLogInstance, openStore } from "./openParts.ts";
import type { EventStore } from "./ports/eventStore.ts";
import { hostReadModels } from "./readModelHost.ts";
import { openReaders, type Readers } from "./readModels/readers.ts";
import { makeWorkers } from "./workers.ts";

/** A service that runs. */
export interface RunningApp {
  readonly url: URL;
  /** The key of a first run, once, for whoever sits at the terminal; else null. */
  readonly bootstrapKey: string | null;
  readonly hasBootstrapKey: boolean;
  /** Stops accepting, finishes what is in flight within `drainTimeoutMs`, closes. */
  stop(): Promise<void>;
}

/** Starts the service: one process for each DATA_DIR. Throws what says why it cannot start. */
export async function startApp(config: Config, logger: Logger): Promise<RunningApp> {
  const lock = lockDirectory(config.dataDir);
  if (lock === null) {
    throw new ConfigError([`DATA_DIR ${config.dataDir} is in use by another running service`]);
  }
  const store = await openStore(config, { cacheKib: config.logCacheKib });
  try {
    return await startOn(config, logger, { store, release: () => lock.release() });
  } catch (error) {
    await store.close();
    lock.release();
    throw error;
  }
}

interface Held {
  readonly store: EventStore;
  release(): void;
}

async function startOn(config: Config, logger: Logger, { store, release }: Held): Promise<RunningApp> {
  const content = openContentStore(config);
  const { keys, logId } = await openLogInstance(config, store, content);
  const directory = join(config.dataDir, "projections");
  const readers = openReaders({ databases: sqliteReadDatabases, directory, projections });
  const services = makeServices({
    store,
    content,
    clock: systemClock,
    keys,
    suppressions: {
      isSuppressed: (workspaceId, hash) => isSuppressed(readers.reader("suppressions"), workspaceId, hash),
      holds: async (position, timeoutMs) =>
        !isEmbedded(config) && readers.waitForPosition("suppressions", position, timeoutMs),
    },
    inspector: openInspector(config),
    templateEngine: liquidEngine(),
    disk: diskSpaceOf(config.dataDir),
    diskFreeBytesMin: config.diskFreeBytesMin,
    limitsDefault: config.limitsDefault,
    recent: config.deliveryEnabled ? recentEmails() : null,
  });
  const bootstrapKey = config.bootstrap ? await bootstrap(services, logId, config.dataDir) : null;
  const workers = makeWorkers(config, logger, { services, readers });
  const { storeUrl, storeTimeoutMs, dataDir } = config;
  const readModels = hostReadModels({
    start: { storeUrl, storeTimeoutMs, dataDir, logId },
    onEvent(event) {
      readers.receive(event);
      if (event.type === "failed")
        logger.error({ readModel: event.name, reason: event.reason }, "read model stopped");
      workers.wake();
    },
    onFailure: (reason) => logger.error({ reason }, "the read models' thread failed; it begins again"),
  });
  await readersOpen(readers, config.storeTimeoutMs);
  workers.start();
  const server = serve(config, logger, makeControllers(config, { services, readers, ...workers }));
  return {
    url: server.url,
    bootstrapKey,
    hasBootstrapKey: existsSync(bootstrapKeyPath(config.dataDir)),
    async stop() {
      const drained = Promise.all([server.stop(), workers.stop(config.drainTimeoutMs)]);
      const timer = setTimeout(() => server.kill(), config.drainTimeoutMs);
      await drained;
      clearTimeout(timer);
      await services.quota.stop();
      await readModels.stop();
      readers.close();
      await store.close();
      release();
    },
  };
}

/** Waits until every read model can be asked, so that the first request finds them; a slow one does not hold us up. */
async function readersOpen(readers: Readers, timeoutMs: number): Promise<void> {
  await Promise.all(projections.map(({ name }) => readers.waitFor(name, () => true, timeoutMs)));
}

function serve(config: Config, logger: Logger, controllers: readonly AnyElysia[]) {
  return listen({
    host: config.host,
    port: config.port,
    basePath: basePathOf(config),
    requestTimeoutMs: config.requestTimeoutMs,
    bodyBytesInFlightMax: config.bodyBytesInFlightMax,
    authFailuresPerMinute: config.authFailuresPerMinute,
    trustedProxies: config.trustedProxies,
    controllers,
    onRequest: (status, line) => logRequest(config, logger, status, line),
    onError: (error, requestId) => logger.error({ requestId, reason: reasonOf(error) }, "request failed"),
  });
}

function logRequest(config: Config, logger: Logger, status: number, line: () => RequestLine): void {
  if (status >= 500) logger.error(line(), "failed");
  else if (status >= 400) logger.info(line(), "refused");
  else if (config.logRequests === "all") logger.info(line(), "answered");
}
