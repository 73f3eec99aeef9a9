import { availableParallelism, hostname } from "node:os";
import { join } from "node:path";
import type { Logger } from "pino";
import { contentBytesOf, findAcceptance } from "../../projections/emails/queries.ts";
import { projections } from "../../projections/index.ts";
import { isSuppressed } from "../../projections/suppressions.ts";
import { sourceBytesOf } from "../../projections/templates.ts";
import { writingThreadsFor } from "../adapters/sqlite/append/openLogWriter.ts";
import { type DirectoryLock, lockPathOf } from "../adapters/sqlite/directoryLock.ts";
import { sqliteReadDatabases } from "../adapters/sqlite/readModelDatabases.ts";
import { serviceIdFile } from "../adapters/system/serviceIdFile.ts";
import { systemClock } from "../adapters/system/systemClock.ts";
import { createDependencies } from "../commands/createDependencies.ts";
import type { Dependencies } from "../commands/dependencies.ts";
import { deliveryHandoffCache } from "../commands/email/deliveryHandoffCache.ts";
import type { ListedAcceptance } from "../commands/email/send/knownAcceptances.ts";
import { type OpenInstance, requireNotFrozen } from "../commands/instance/openInstance.ts";
import {
  joinUnregistered,
  registerService,
  type ServiceMembership,
} from "../commands/instance/registerService.ts";
import type { NearLimit } from "../commands/quota/limitWatch.ts";
import { RequestsInFlight } from "../http/limits/requestsInFlight.ts";
import { LOG_FROZEN } from "../http/server/problem.ts";
import { lazy } from "../kernel/lazy.ts";
import { reasonOf } from "../kernel/text/errorReason.ts";
import { SECOND_MS } from "../kernel/time.ts";
import type { ContentStore } from "../ports/contentStore.ts";
import type { EventStore } from "../ports/eventStore.ts";
import { unlessUnavailable } from "../ports/readDatabase.ts";
import { type ContentStoreHealth, contentStoreHealth } from "../reactors/content/contentStoreHealth.ts";
import { watchFreeze } from "../reactors/instance/freezeWatch.ts";
import { openReaders, type Readers } from "../readModels/readModelReaders.ts";
import { dependenciesFromConfig } from "./adapters/dependenciesFromConfig.ts";
import { openContentStore } from "./adapters/openContentStore.ts";
import { openOutboxErasure } from "./adapters/openOutboxErasure.ts";
import { isEmbedded, openStore } from "./adapters/openStore.ts";
import { type BackgroundJobs, createBackgroundJobs } from "./backgroundJobs.ts";
import { baseUrlWithPort } from "./baseUrlWithPort.ts";
import { type BootstrapKey, bootstrap, hasWorkspace, readBootstrapKey } from "./bootstrapWorkspace.ts";
import type { Config } from "./config/config.ts";
import { ConfigError } from "./config/configError.ts";
import { requireDkimKeys } from "./config/requireDkimKeys.ts";
import { readModelDirectory } from "./config/storeConfig.ts";
import { type DashboardLinkAnswer, dashboardLink } from "./dashboardLink.ts";
import { dataDirectoryInUse, isDataDirectoryLocked, lockDataDirectory } from "./dataDirectoryLock.ts";
import { createControllers } from "./httpControllers.ts";
import { openLocalControl } from "./localControlServer.ts";
import { contentLog } from "./logLines/contentLogLines.ts";
import { limitLog } from "./logLines/limitLogLines.ts";
import { unmatchedFeedback } from "./logLines/unmatchedFeedback.ts";
import { workerErrorLog } from "./logLines/workerErrorLog.ts";
import { type EventAndRequestCounts, eventAndRequestCounts } from "./metrics/eventAndRequestCounts.ts";
import { createHistogram } from "./metrics/histogram.ts";
import { DELIVERY_SECONDS_BOUNDS, serviceMetrics } from "./metrics/serviceMetrics.ts";
import { openInstanceOfService, requireUnboundBeforeCreation } from "./openInstanceFromConfig.ts";
import { type Listeners, openListeners } from "./openListeners.ts";
import { type LogDamage, logDamage, refusingOnceDamaged } from "./status/logDamage.ts";
import { heldDetail } from "./status/readiness.ts";
import { serviceStatus } from "./status/serviceStatus.ts";
import { stopService } from "./stopService.ts";
import { systemCommandContext } from "./systemCommandContext.ts";
import { dashboardMaintenance } from "./threads/dashboardMaintenance.ts";
import { readModelLog } from "./threads/readModelLogLines.ts";
import { superviseReadModels } from "./threads/readModelSupervisor.ts";
import { verifyOnSchedule } from "./threads/readModelVerifySchedule.ts";

export interface RunningApp {
  readonly url: URL;
  /** Where mail is taken over SMTP; null if it is not. */
  readonly submission: { readonly host: string; readonly port: number } | null;
  /** Where returned mail is taken; null if it is not. */
  readonly inbound: { readonly host: string; readonly port: number } | null;
  /** Where metrics are read; null if they are off. */
  readonly metrics: URL | null;
  /** The key of a first run, while it is in its file and not revoked. */
  readonly bootstrapKey: BootstrapKey | null;
  /** Whether nobody can use it yet: the log has no workspace, and no first run makes one. */
  readonly isWithoutWorkspace: boolean;
  /** What to say about mail held since the log was restored; null if there is none. */
  readonly held: string | null;
  /** A link that logs in to the dashboard of a workspace; null means the only one. */
  dashboardLink(workspaceId: string | null): Promise<DashboardLinkAnswer>;
  /** What `stop` would have to finish now. */
  inFlight(): { readonly requests: number; readonly deliveries: number };
  /** Stops accepting, finishes what is in flight within `drainTimeoutMs`, and closes within 4 s more. */
  stop(): Promise<void>;
}

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
  // Before anything is created: a HOST or PORT that cannot be opened leaves no data behind.
  const counts = config.metrics && eventAndRequestCounts();
  const listeners = await openPorts(config, logger, counts);
  undo.defer(() => listeners.kill());
  const reached = { ...config, baseUrl: baseUrlWithPort(config.baseUrl, listeners.url.port) };
  const lock = lockData(config.dataDir);
  undo.defer(() => lock.release());
  const content = openContentStore(config);
  const writingThreads = writingThreadsFor(availableParallelism());
  const damage = logDamage(logger);
  const onDamage = ({ message }: Error) => damage.tell(message);
  const log = await unlessStopped(
    stop,
    openStore(config, {
      cacheKib: config.storeCacheKib,
      writingThreads,
      onDamage,
      beforeCreation: requireUnboundBeforeCreation(config, content),
    }),
  );
  // A call of the store that is under way may take its whole time.
  undo.defer(() => (stop.aborted ? undefined : log.close()));
  const sound = refusingOnceDamaged(log, damage);
  const store = counts?.counted(sound) ?? sound;
  const opened = await unlessStopped(stop, openInstanceOfService(config, store, content, logger));
  requireNotFrozen(opened);
  const membership = await joinServices(config, store);
  // Report why the service cannot start, and ignore a failure to leave the register.
  undo.defer(() => membership.leave().catch(() => {}));
  stop.throwIfAborted();
  const contentHealth = contentHealthOf(config, logger, content);
  const resources = { listeners, lock, store, damage, contentHealth, opened, membership, counts, stop };
  const app = await runWith(reached, logger, resources);
  undo.move();
  return app;
}

const NEVER = new AbortController().signal;

/** The result of a step of the start whose effect is whole or not there. Throws the reason of `stop` if that aborts. */
function unlessStopped<Result>(stop: AbortSignal, step: Promise<Result>): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  if (stop.aborted) reject(stop.reason);
  stop.addEventListener("abort", () => reject(stop.reason), { once: true });
  return Promise.race([step, promise]);
}

/** The addresses of the mail ports. */
function smtpPorts({ submission, inbound }: Listeners): Pick<RunningApp, "submission" | "inbound"> {
  return {
    submission: submission && { host: submission.host, port: submission.port },
    inbound: inbound && { host: inbound.host, port: inbound.port },
  };
}

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

function lockData(dataDir: string): DirectoryLock {
  const lock = lockDataDirectory(dataDir);
  if (lock !== null) return lock;
  throw dataDirectoryInUse(dataDir);
}

/** What a service acquires before it runs, and releases when it stops. */
interface AcquiredResources {
  readonly listeners: Listeners;
  readonly lock: DirectoryLock;
  readonly store: EventStore;
  readonly damage: LogDamage;
  readonly contentHealth: ContentStoreHealth;
  readonly opened: OpenInstance;
  readonly membership: ServiceMembership;
  /** Null if metrics are off. */
  readonly counts: EventAndRequestCounts | null;
  /** Aborts when the service is to stop before it runs. */
  readonly stop: AbortSignal;
}

async function runWith(config: Config, logger: Logger, resources: AcquiredResources): Promise<RunningApp> {
  const { store, damage, contentHealth, opened, listeners, lock, membership, counts, stop } = resources;
  const { logId, incarnation } = opened;
  const readers = readersOf(config, (file) => readModels.tellDamage(file));
  const onNearLimit = limitLog(logger);
  const outbox = await openOutboxErasure(config, logger);
  const content = contentHealth.observed;
  const deps = depsOn(config, { store, content, keys: opened.keys, readers, outbox, onNearLimit });
  if (config.bootstrap) await bootstrap(deps, logId, config.dataDir);
  const deliverySeconds = createHistogram(DELIVERY_SECONDS_BOUNDS);
  const onSent = (afterMs: number) => deliverySeconds.observe(afterMs / SECOND_MS);
  const jobParts = { deps, readers, logId: incarnation, membership, contentHealth, onSent };
  const workers = createBackgroundJobs(config, logger, jobParts);
  const readModels = followLog(config, logger, { incarnation, readers, workers, damage });
  await unlessStopped(stop, readersOpen(readers, config.storeTimeoutMs));
  const held = heldDetail((await deps.instanceStatus.get()).instance);
  const isWithoutWorkspace = !config.bootstrap && !(await hasWorkspace(store));
  const requests = new RequestsInFlight();
  const leave = () => leaveRegistry(membership, logger);
  const stopWorkers = lazy(() => workers.stop(config.drainTimeoutMs));
  // Once: after a freeze a second stop could append what the first could not return.
  const stopQuota = lazy(() => deps.quota.stop());
  const stopWork = () => {
    listeners.refuseArriving(LOG_FROZEN);
    return Promise.all([stopWorkers(), requests.whenIdle()]).then(stopQuota);
  };
  const { freezeWatch, settled } = stopAtFreeze(deps, logger, { stopWork, leave });
  const maintenance = dashboardMaintenance(logCopyOf(config, incarnation), { logger, clock: deps.clock });
  const unmatched = unmatchedFeedback(logger);
  const served = { deps, damage, readers, contentHealth, freezeWatch, maintenance, unmatched, ...workers };
  const { controllers, dashboard, readiness } = await createControllers(config, served);
  const isClosed = () => freezeWatch.isFrozen();
  listeners.answer({ deps, controllers, requests, isClosed });
  const inFlight = () => ({
    requests: listeners.inFlightCount(),
    deliveries: workers.inFlightCount(),
    webhookDeliveries: workers.webhooksInFlightCount(),
  });
  if (counts !== null)
    listeners.metrics?.answer(
      serviceMetrics({ config, deps, readers, counts, unmatched, deliverySeconds, readiness, inFlight }),
    );
  const { url } = listeners;
  const status = serviceStatus({ ...listeners, ...served, config, logId, inFlight });
  const makeLink = (workspaceId: string | null) => dashboardLink(deps, config, workspaceId);
  const control = await openLocalControl(config.dataDir, { status, settled, dashboardLink: makeLink });
  stop.throwIfAborted();
  // Only once it listens: a service that cannot must not have claimed anything.
  workers.start();
  const verifying = verifyOnSchedule(config, logger, logCopyOf(config, incarnation));
  const isIdle = () => requests.isIdle && workers.inFlightCount() === 0;
  const stopped = { control, dashboard, freezeWatch, maintenance: [verifying, maintenance], readModels };
  const bootstrapKey = await readBootstrapKey(store, config.dataDir);
  const parts = { ...stopped, listeners, deps, store, lock, readers, stopWorkers, stopQuota, isIdle, leave };
  return {
    url,
    ...smtpPorts(listeners),
    metrics: listeners.metrics?.url ?? null,
    isWithoutWorkspace,
    held,
    bootstrapKey: bootstrapKey?.isRevoked === true ? null : bootstrapKey,
    dashboardLink: makeLink,
    inFlight,
    stop: () => stopService(parts, { drainTimeoutMs: config.drainTimeoutMs, onLate: lateStepLog(logger) }),
  };
}

function lateStepLog(logger: Logger) {
  return (step: string) => logger.warn({ step }, "a step of the stop took too long and was abandoned");
}

interface Stopping {
  /** Begins nothing more, and settles when nothing is in flight and nothing is left to be written. */
  stopWork(): Promise<unknown>;
  leave(): Promise<void>;
}

/** Stops the work of a service when its log is frozen. `settled`: the log is frozen and nothing is in flight. */
function stopAtFreeze(deps: Dependencies, logger: Logger, { stopWork, leave }: Stopping) {
  let isSettled = false;
  const freezeWatch = watchFreeze(deps.instanceStatus, () => {
    logger.error("the log was frozen: nothing is accepted or delivered here any more");
    void stopWork().then(() => {
      isSettled = true;
      return leave();
    });
  });
  return { freezeWatch, settled: async () => (await freezeWatch.isFrozen()) && isSettled };
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

/** If a service cannot record that it has left, freezing the log waits its full time for it. */
async function leaveRegistry(membership: ServiceMembership, logger: Logger): Promise<void> {
  await membership
    .leave()
    .catch((error) =>
      logger.warn(
        { reason: reasonOf(error) },
        "could not record in the store that this service has stopped working: an export that freezes the log will wait its full time",
      ),
    );
}

/** What a thread needs to open this copy of the log. */
function logCopyOf({ storeUrl, storeTimeoutMs, dataDir }: Config, incarnation: string) {
  return { storeUrl, storeTimeoutMs, dataDir, logId: incarnation };
}

interface Following {
  readonly incarnation: string;
  readonly readers: Readers;
  readonly workers: BackgroundJobs;
  readonly damage: LogDamage;
}

function readersOf(config: Config, onDamage: (file: string) => void): Readers {
  const directory = readModelDirectory(config);
  return openReaders({ databases: sqliteReadDatabases, directory, projections, onDamage });
}

/** Keeps the read models caught up with the log, on a thread of their own. */
function followLog(config: Config, logger: Logger, { incarnation, readers, workers, damage }: Following) {
  const { auditSealIntervalMs, auditSigningKey } = config;
  const tell = readModelLog(logger);
  return superviseReadModels({
    start: { ...logCopyOf(config, incarnation), auditSealIntervalMs, auditSigningKey },
    onEvent(event) {
      readers.receive(event);
      tell(event);
      workers.wake();
    },
    onSealTrouble: (reason) => logger.warn({ reason }, "the log could not be sealed"),
    onDamagedLog: (reason) => damage.tell(reason),
  });
}

interface Opened extends Pick<Dependencies, "store" | "content" | "keys" | "outbox"> {
  readonly readers: Readers;
  readonly onNearLimit: (near: NearLimit) => void;
}

function contentHealthOf(config: Config, logger: Logger, content: ContentStore): ContentStoreHealth {
  const onTrouble = workerErrorLog({ logger, text: "looking at the content store was interrupted" });
  return contentStoreHealth({ content, clock: systemClock, tell: contentLog(config, logger), onTrouble });
}

function depsOn(config: Config, { readers, ...opened }: Opened): Dependencies {
  const suppressions = readers.turnReader("suppressions");
  return createDependencies({
    ...opened,
    ...dependenciesFromConfig(config),
    suppressions: {
      isSuppressed: (workspaceId, hash) => isSuppressed(suppressions, workspaceId, hash),
      holds: async (position, timeoutMs) =>
        !isEmbedded(config) && readers.waitForPosition("suppressions", position, timeoutMs),
    },
    ...(isEmbedded(config) ? {} : { listedAcceptance: listedAcceptance(readers) }),
    contentUsage: { bytesOf: (ownerId) => storedContentBytes(readers, ownerId) },
    recentEmails: config.deliveryEnabled ? deliveryHandoffCache() : null,
  });
}

function listedAcceptance(readers: Readers): ListedAcceptance {
  return (id, fingerprint) =>
    unlessUnavailable(() => findAcceptance(readers.reader("emails"), id, fingerprint));
}

/** Null while the count is being rebuilt: a send does not wait for that. */
function storedContentBytes(readers: Readers, ownerId: string): number | null {
  return unlessUnavailable(() => {
    const ofMessages = contentBytesOf(readers.reader("emails"), ownerId);
    return ofMessages + sourceBytesOf(readers.reader("templates"), ownerId);
  });
}

/** Waits until every read model can be queried, so the first request finds them; a slow one only delays us so long. */
async function readersOpen(readers: Readers, timeoutMs: number): Promise<void> {
  await Promise.all(projections.map(({ name }) => readers.waitUntilOpen(name, timeoutMs)));
}
