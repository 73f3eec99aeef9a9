import type { Logger } from "pino";
import { contentBytesOf, findAcceptance } from "../../projections/emails/queries.ts";
import { projections } from "../../projections/index.ts";
import { isSuppressed } from "../../projections/suppressions.ts";
import { sourceBytesOf } from "../../projections/templates.ts";
import type { DirectoryLock } from "../adapters/sqlite/directoryLock.ts";
import { sqliteReadDatabases } from "../adapters/sqlite/readModelDatabases.ts";
import { createDependencies } from "../commands/createDependencies.ts";
import type { Dependencies } from "../commands/dependencies.ts";
import { deliveryHandoffCache } from "../commands/email/deliveryHandoffCache.ts";
import { readEmailHistory } from "../commands/email/emailHistory.ts";
import type { EmailView } from "../commands/email/readEmail.ts";
import type { ListedAcceptance } from "../commands/email/send/knownAcceptances.ts";
import type { OpenInstance } from "../commands/instance/openInstance.ts";
import type { ServiceMembership } from "../commands/instance/registerService.ts";
import type { NearLimit } from "../commands/quota/limitWatch.ts";
import type { Waiting } from "../domain/email/waitingReason.ts";
import { RequestsInFlight } from "../http/limits/requestsInFlight.ts";
import { LOG_FROZEN } from "../http/server/problem.ts";
import { unlessAborted } from "../kernel/concurrency/unlessAborted.ts";
import { lazy } from "../kernel/lazy.ts";
import { reasonOf } from "../kernel/text/errorReason.ts";
import { SECOND_MS } from "../kernel/time.ts";
import type { EventStore } from "../ports/eventStore.ts";
import { unlessUnavailable } from "../ports/readDatabase.ts";
import type { ContentStoreHealth } from "../reactors/content/contentStoreHealth.ts";
import { watchFreeze } from "../reactors/instance/freezeWatch.ts";
import { openReaders, type Readers } from "../readModels/readModelReaders.ts";
import { dependenciesFromConfig } from "./adapters/dependenciesFromConfig.ts";
import { openOutboxErasure } from "./adapters/openOutboxErasure.ts";
import { isEmbedded } from "./adapters/openStore.ts";
import { type BackgroundJobs, createBackgroundJobs } from "./backgroundJobs.ts";
import { type BootstrapKey, bootstrap, hasWorkspace, readBootstrapKey } from "./bootstrapWorkspace.ts";
import type { Config } from "./config/config.ts";
import { readModelDirectory } from "./config/storeConfig.ts";
import { type DashboardLinkAnswer, dashboardLink } from "./dashboardLink.ts";
import { createControllers } from "./httpControllers.ts";
import { openLocalControl } from "./localControlServer.ts";
import { limitLog } from "./logLines/limitLogLines.ts";
import { refusedReportLog } from "./logLines/refusedReportLog.ts";
import { unmatchedFeedback } from "./logLines/unmatchedFeedback.ts";
import type { EventAndRequestCounts } from "./metrics/eventAndRequestCounts.ts";
import { createHistogram } from "./metrics/histogram.ts";
import { DELIVERY_SECONDS_BOUNDS, serviceMetrics } from "./metrics/serviceMetrics.ts";
import type { Listeners } from "./openListeners.ts";
import type { LogDamage } from "./status/logDamage.ts";
import { heldDetail } from "./status/readiness.ts";
import { serviceStatus } from "./status/serviceStatus.ts";
import { stopService } from "./stopService.ts";
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

/** What a service acquires before it runs, and releases when it stops. */
export interface AcquiredResources {
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

/**
 * Runs a service on what it has acquired. Throws the reason of `stop` if that aborts before its workers start; the
 * process must then end.
 */
export async function runApp(
  config: Config,
  logger: Logger,
  resources: AcquiredResources,
): Promise<RunningApp> {
  const { store, listeners, opened, lock, stop } = resources;
  const work = await openWork(config, logger, resources);
  const { deps, readers, workers, readModels } = work;
  const held = heldDetail((await deps.instanceStatus.get()).instance);
  const isWithoutWorkspace = !config.bootstrap && !(await hasWorkspace(store));
  const end = endOfWork(config, logger, { ...resources, ...work });
  const logCopy = logCopyOf(config, opened.incarnation);
  const maintenance = dashboardMaintenance(logCopy, { logger, clock: deps.clock });
  const serving = { ...resources, ...work, ...end, maintenance };
  const { dashboard, inFlight, status } = await serve(config, logger, serving);
  const makeLink = (workspaceId: string | null) => dashboardLink(deps, config, workspaceId);
  const control = await openLocalControl(config.dataDir, {
    status,
    settled: end.settled,
    waiting: waitingReader(deps, workers.delivery.readWaitingReason(config.deliveryEnabled)),
    dashboardLink: makeLink,
  });
  stop.throwIfAborted();
  // Only once it listens: a service that cannot must not have claimed anything.
  workers.start();
  const verifying = verifyOnSchedule(config, logger, logCopy);
  const bootstrapKey = await readBootstrapKey(store, config.dataDir);
  const parts = { ...end, control, dashboard, readModels, listeners, deps, store, lock, readers };
  const stopped = { ...parts, maintenance: [verifying, maintenance] };
  const onLate = (step: string) =>
    logger.warn({ step }, "a step of the stop took too long and was abandoned");
  return {
    url: listeners.url,
    ...smtpPorts(listeners),
    metrics: listeners.metrics?.url ?? null,
    isWithoutWorkspace,
    held,
    bootstrapKey: bootstrapKey?.isRevoked === true ? null : bootstrapKey,
    dashboardLink: makeLink,
    inFlight,
    stop: () => stopService(stopped, { drainTimeoutMs: config.drainTimeoutMs, onLate }),
  };
}

/** What works in a service behind its requests, and what requests need of it. */
async function openWork(config: Config, logger: Logger, resources: AcquiredResources) {
  const { store, damage, contentHealth, opened, membership, stop } = resources;
  const { logId, incarnation } = opened;
  const readers = readersOf(config, (file) => readModels.tellDamage(file));
  const deps = depsOn(config, {
    store,
    content: contentHealth.observed,
    keys: opened.keys,
    readers,
    outbox: await openOutboxErasure(config, logger),
    onNearLimit: limitLog(logger),
  });
  if (config.bootstrap) await bootstrap(deps, logId, config.dataDir);
  const deliverySeconds = createHistogram(DELIVERY_SECONDS_BOUNDS);
  const onSent = (afterMs: number) => deliverySeconds.observe(afterMs / SECOND_MS);
  const jobParts = { deps, readers, logId: incarnation, membership, contentHealth, onSent };
  const workers = createBackgroundJobs(config, logger, jobParts);
  const readModels = followLog(config, logger, { incarnation, readers, workers, damage });
  await unlessAborted(stop, readersOpen(readers, config.storeTimeoutMs));
  return { deps, readers, readModels, workers, deliverySeconds };
}

type Work = Awaited<ReturnType<typeof openWork>>;

/** How a service ends its work: when it stops, and when its log is frozen. */
function endOfWork(
  config: Config,
  logger: Logger,
  { listeners, membership, deps, workers }: Pick<AcquiredResources, "listeners" | "membership"> & Work,
) {
  const requests = new RequestsInFlight();
  const leave = () => leaveRegistry(membership, logger);
  const stopWorkers = lazy(() => workers.stop(config.drainTimeoutMs));
  // Once: after a freeze a second stop could append what the first could not return.
  const stopQuota = lazy(() => deps.quota.stop());
  const stopWork = () => {
    listeners.refuseArriving(LOG_FROZEN);
    return Promise.all([stopWorkers(), requests.whenIdle()]).then(stopQuota);
  };
  const isIdle = () => requests.isIdle && workers.inFlightCount() === 0;
  return {
    requests,
    leave,
    stopWorkers,
    stopQuota,
    isIdle,
    ...stopAtFreeze(deps, logger, { stopWork, leave }),
  };
}

interface Serving extends AcquiredResources, Work, ReturnType<typeof endOfWork> {
  readonly maintenance: ReturnType<typeof dashboardMaintenance>;
}

/** Answers requests from now on, also those for metrics. */
async function serve(config: Config, logger: Logger, serving: Serving) {
  const { deps, readers, damage, workers, listeners, counts, deliverySeconds, requests, freezeWatch } =
    serving;
  const { contentHealth, maintenance } = serving;
  const { delivery, relays, clockWatch, sendingRates } = workers;
  const unmatched = unmatchedFeedback(logger);
  const shared = { deps, readers, damage, delivery, sendingRates, unmatched };
  const onRefusedReport = refusedReportLog(logger);
  const parts = { ...shared, onRefusedReport, relays, contentHealth, freezeWatch, maintenance };
  const { controllers, dashboard, readiness } = await createControllers(config, parts);
  listeners.answer({ deps, controllers, requests, isClosed: () => freezeWatch.isFrozen() });
  const inFlight = () => ({
    requests: listeners.inFlightCount(),
    deliveries: workers.inFlightCount(),
    webhookDeliveries: workers.webhooksInFlightCount(),
  });
  if (counts !== null)
    listeners.metrics?.answer(
      serviceMetrics({ ...shared, config, counts, deliverySeconds, readiness, inFlight }),
    );
  const { logId } = serving.opened;
  const { url, submission, inbound } = listeners;
  const status = serviceStatus({ ...shared, config, clockWatch, logId, url, submission, inbound, inFlight });
  return { dashboard, inFlight, status };
}

/** The addresses of the mail ports. */
function smtpPorts({ submission, inbound }: Listeners): Pick<RunningApp, "submission" | "inbound"> {
  return {
    submission: submission && { host: submission.host, port: submission.port },
    inbound: inbound && { host: inbound.host, port: inbound.port },
  };
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
  return { freezeWatch, settled: async () => (await freezeWatch.isKnownFrozen()) && isSettled };
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

/** Says of a message, by its id, why it has not ended. */
function waitingReader({ store }: Dependencies, readReason: (view: EmailView) => Promise<Waiting | null>) {
  return async (id: string) => {
    const { state: email, events } = await readEmailHistory(store, id);
    return email && readReason({ id, email, content: null, events });
  };
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
