import { availableParallelism, hostname } from "node:os";
import { join } from "node:path";
import type { Logger } from "pino";
import { writingThreadsFor } from "../adapters/sqlite/append/openLogWriter.ts";
import { lockPathOf } from "../adapters/sqlite/directoryLock.ts";
import { serviceIdFile } from "../adapters/system/serviceIdFile.ts";
import { systemClock } from "../adapters/system/systemClock.ts";
import { requireNotFrozen } from "../commands/instance/openInstance.ts";
import {
  joinUnregistered,
  registerService,
  type ServiceMembership,
} from "../commands/instance/registerService.ts";
import { tellIfSlow } from "../kernel/concurrency/tellIfSlow.ts";
import { unlessAborted } from "../kernel/concurrency/unlessAborted.ts";
import type { ContentStore } from "../ports/contentStore.ts";
import type { EventStore } from "../ports/eventStore.ts";
import { type ContentStoreHealth, contentStoreHealth } from "../reactors/content/contentStoreHealth.ts";
import { openContentStore } from "./adapters/openContentStore.ts";
import { isEmbedded, openStore } from "./adapters/openStore.ts";
import { baseUrlWithPort } from "./baseUrlWithPort.ts";
import type { Config } from "./config/config.ts";
import { ConfigError } from "./config/configError.ts";
import { requireDkimKeys } from "./config/mail/requireDkimKeys.ts";
import { dataDirectoryInUse, isDataDirectoryLocked, requireDataDirectoryLock } from "./dataDirectoryLock.ts";
import { contentLog } from "./logLines/contentLogLines.ts";
import { workerErrorLog } from "./logLines/workerErrorLog.ts";
import { eventAndRequestCounts } from "./metrics/eventAndRequestCounts.ts";
import {
  openInstanceOfService,
  requireCreatableByService,
  requireLogFile,
} from "./openInstanceFromConfig.ts";
import { type Listeners, openListeners } from "./openListeners.ts";
import { type RunningApp, runApp } from "./runApp.ts";
import { logDamage, refusingOnceDamaged } from "./status/logDamage.ts";
import { systemCommandContext } from "./systemCommandContext.ts";

/** The file in DATA_DIR that holds the service's id. */
const SERVICE_ID_FILE = "service.id";

/**
 * Starts the service, one process per DATA_DIR. Throws why it cannot start, and the reason of `stop` if that aborts
 * first: at once, unless this may still write; the process must then end.
 */
export async function startApp(config: Config, logger: Logger, stop = NEVER): Promise<RunningApp> {
  // Undone in reverse order if the service cannot start after all.
  await using undo = new AsyncDisposableStack();
  await requireDkimKeys(config);
  requireLogFile(config);
  // Before anything is created: a HOST or PORT that cannot be opened leaves no data behind.
  const counts = config.metrics && eventAndRequestCounts();
  const listeners = await openPorts(config, logger, counts);
  undo.defer(() => listeners.kill());
  const reached = { ...config, baseUrl: baseUrlWithPort(config.baseUrl, listeners.url.port) };
  const lock = requireDataDirectoryLock(config.dataDir);
  undo.defer(() => lock.release());
  const content = openContentStore(config);
  const writingThreads = writingThreadsFor(availableParallelism());
  const damage = logDamage(logger);
  const onDamage = ({ message }: Error) => damage.tell(message);
  const step = <Result>(waitsFor: string, work: Promise<Result>) =>
    unlessAborted(
      stop,
      tellIfSlow(work, () => logger.info(`still starting: waiting for ${waitsFor}`)),
    );
  const log = await step(
    "the log",
    openStore(config, {
      cacheKib: config.storeCacheKib,
      writingThreads,
      onDamage,
      beforeCreation: requireCreatableByService(config, content),
    }),
  );
  // A call of the store that is under way may take its whole time.
  undo.defer(() => (stop.aborted ? undefined : log.close()));
  const sound = refusingOnceDamaged(log, damage);
  const store = counts?.counted(sound) ?? sound;
  const opened = await step(
    "the log and the content store",
    openInstanceOfService(config, store, content, logger),
  );
  requireNotFrozen(opened);
  const membership = await joinServices(config, store);
  // Report why the service cannot start, and ignore a failure to leave the register.
  undo.defer(() => membership.leave().catch(() => {}));
  stop.throwIfAborted();
  const contentHealth = contentHealthOf(config, logger, content);
  const resources = { listeners, lock, store, damage, contentHealth, opened, membership, counts, stop };
  const app = await runApp(reached, logger, resources);
  undo.move();
  return app;
}

const NEVER = new AbortController().signal;

/** {@link openListeners}. Says first if the likely cause of a failure is that the service already runs. */
async function openPorts(...args: Parameters<typeof openListeners>): Promise<Listeners> {
  try {
    return await openListeners(...args);
  } catch (error) {
    const [{ dataDir }] = args;
    if (!(error instanceof ConfigError) || !isDataDirectoryLocked(dataDir)) throw error;
    throw new ConfigError([...dataDirectoryInUse(dataDir).errors, ...error.errors]);
  }
}

/**
 * Enters the service in the log's register of services, on a store where a command cannot ask the others. On the
 * embedded store, whoever freezes the log asks the service on its DATA_DIR.
 */
async function joinServices({ dataDir, ...config }: Config, store: EventStore): Promise<ServiceMembership> {
  const memory = serviceIdFile({ path: join(dataDir, SERVICE_ID_FILE), lockPath: lockPathOf(dataDir) });
  if (isEmbedded(config)) return joinUnregistered(memory);
  const joining = { location: { host: hostname(), dataDir }, memory };
  return registerService(store, joining, () => systemCommandContext("system"));
}

function contentHealthOf(config: Config, logger: Logger, content: ContentStore): ContentStoreHealth {
  const onTrouble = workerErrorLog({ logger, text: "looking at the content store was interrupted" });
  return contentStoreHealth({ content, clock: systemClock, tell: contentLog(config, logger), onTrouble });
}
