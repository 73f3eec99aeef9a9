import { join } from "node:path";
import type { Logger } from "pino";
import type { ReadModelName } from "../../projections/readModelName.ts";
import { createDnsResolver } from "../adapters/dns/dnsResolver.ts";
import { sqliteReadDatabases } from "../adapters/sqlite/readModelDatabases.ts";
import { contentCleanupCheckpointFile } from "../adapters/system/contentCleanupCheckpointFile.ts";
import type { Dependencies } from "../commands/dependencies.ts";
import type { ServiceMembership } from "../commands/instance/registerService.ts";
import { privateHostOf } from "../domain/webhook/webhookUrl.ts";
import type { DashboardOptions } from "../http/dashboard/frame/dashboardOptions.ts";
import { unlessAborted } from "../kernel/concurrency/unlessAborted.ts";
import { newId } from "../kernel/ids.ts";
import { isLoopbackUrl } from "../kernel/network/isLoopback.ts";
import { reasonOf } from "../kernel/text/errorReason.ts";
import { ContentStoreError } from "../ports/contentStore.ts";
import type { Position } from "../ports/eventStore.ts";
import type { MailTransport } from "../ports/mail/mailTransport.ts";
import { apiKeyLastUseWriter } from "../reactors/apiKey/apiKeyLastUseWriter.ts";
import { attachmentWorkers } from "../reactors/attachment/attachmentWorkers.ts";
import { contentRemovalsUntil } from "../reactors/content/contentRemovalsUntil.ts";
import type { ContentStoreHealth } from "../reactors/content/contentStoreHealth.ts";
import { emailContentRetention } from "../reactors/content/emailContentRetention.ts";
import { erasedContentCleanup } from "../reactors/content/erasedContentCleanup.ts";
import { orphanedContentSweeper } from "../reactors/content/orphanedContentSweeper.ts";
import { MailDeliveryWorker } from "../reactors/email/mailDeliveryWorker.ts";
import { RelayDeferralReports } from "../reactors/email/relayDeferralReports.ts";
import { RelayOutageReports } from "../reactors/email/relayOutageReports.ts";
import { RelayRefusalReports } from "../reactors/email/relayRefusalReports.ts";
import { personErasure } from "../reactors/erasure/personErasure.ts";
import { domainRecheckWorker } from "../reactors/sender/domainRecheckWorker.ts";
import { VerificationMailWorker } from "../reactors/sender/verificationMailWorker.ts";
import { staleReservations } from "../reactors/storage/staleReservations.ts";
import { EndpointFailureReports } from "../reactors/webhookDelivery/endpointFailureReports.ts";
import { WebhookDeliveryWorker } from "../reactors/webhookDelivery/webhookDeliveryWorker.ts";
import type { ClaimWorkerDependencies } from "../reactors/worker/claimWorkerDependencies.ts";
import { type SendingRateWatch, sendingRateWatch } from "../reactors/workspace/sendingRateWatch.ts";
import { emptyWriteAheadLogs } from "../readModels/generations/emptyWriteAheadLogs.ts";
import type { Readers } from "../readModels/readModelReaders.ts";
import { openMailTransport } from "./adapters/openMailTransport.ts";
import { isEmbedded } from "./adapters/openStore.ts";
import { openWebhookTransport } from "./adapters/openWebhookTransport.ts";
import type { Config } from "./config/config.ts";
import { readModelDirectory } from "./config/storeConfig.ts";
import { lostContentLog } from "./logLines/contentLogLines.ts";
import { endpointFailureLog } from "./logLines/endpointLogLines.ts";
import { refusalLog, relayChangeLog, relayLog } from "./logLines/relayLogLines.ts";
import { sendingRateLog } from "./logLines/sendingRateLogLines.ts";
import { workerErrorLog } from "./logLines/workerErrorLog.ts";
import { ERASURE_INTERRUPTED } from "./status/checks/erasureChecks.ts";
import { type ClockWatch, clockWatch } from "./status/clockWatch.ts";
import { diskWatch } from "./status/diskWatch.ts";
import { messagesDue } from "./status/messagesDue.ts";
import { pauseWatch } from "./status/pauseWatch.ts";
import { relayStates } from "./status/relayStates.ts";

/** A read from a store in another process costs half as much as an append; from the embedded store next to nothing. */
const REMOTE_READ_SPACING_MS = 25;

/** Acts on the log for as long as the service runs. */
interface Worker {
  start(): void;
  /** A read model has moved. */
  wake?(): void;
  /** Begins nothing more, and waits up to `graceMs` for work in hand. */
  stop(graceMs: number): Promise<void>;
}

export interface BackgroundJobs {
  readonly delivery: MailDeliveryWorker;
  readonly clockWatch: Pick<ClockWatch, "latestSeen" | "jumpAhead">;
  readonly sendingRates: Pick<SendingRateWatch, "high">;
  /** The status of the relays, for the dashboard. */
  readonly relays: DashboardOptions["relays"];
  /** Mail and webhook calls in flight. */
  inFlightCount(): number;
  webhooksInFlightCount(): number;
  start(): void;
  wake(): void;
  stop(graceMs: number): Promise<void>;
}

interface JobParts {
  readonly deps: Dependencies;
  readonly readers: Readers;
}

interface LogJobParts extends JobParts {
  readonly logId: string;
}

interface ServiceJobParts extends LogJobParts {
  readonly contentHealth: ContentStoreHealth;
  readonly membership: ServiceMembership;
  /** Told of each message that the relay has accepted: how long after it was due. */
  readonly onSent: (afterMs: number) => void;
}

/** The worker that claims mail and calls, and its predecessor, which is known to have ended. */
type Claiming = Pick<ClaimWorkerDependencies, "worker" | "endedWorker" | "isLogShared">;

/** Everything in a service that acts by itself. Mail and webhooks only go out where delivery is on. */
export function createBackgroundJobs(
  config: Config,
  logger: Logger,
  { deps, readers, logId, membership, contentHealth, onSent }: ServiceJobParts,
): BackgroundJobs {
  const relays = relayStates(config, deps.clock);
  const logChange = relayChangeLog(logger);
  const transport = openMailTransport(config, (change) => {
    relays.note(change);
    logChange(change);
  });
  const tellOfRelay = relayLog(config, logger, async () => {
    return (await messagesDue(deps, readers))?.count ?? null;
  });
  const relayOutageReports = new RelayOutageReports(deps.clock, tellOfRelay);
  const stop = new AbortController();
  const repeatable = { ...deps, content: contentRemovalsUntil(stop.signal, deps.content) };
  const claiming = {
    worker: membership.serviceId,
    endedWorker: membership.predecessor,
    isLogShared: !isEmbedded(config),
  };
  const mailing = { deps, readers, transport, relayOutageReports, ...claiming };
  const delivery = mailDelivery(config, logger, {
    ...mailing,
    deps: { ...deps, content: contentHealth.content },
    contentBreaker: contentHealth.reads,
    deferralReports: new RelayDeferralReports(deps.clock, tellOfRelay),
    onSent,
  });
  const verification = senderVerification(config, logger, mailing);
  const webhooks = webhookDelivery(config, logger, { deps, readers, ...claiming });
  const clock = clockWatch(logger, deps.clock);
  const sendingRates = sendingRateWatchOf(config, logger, { deps, readers });
  const reachingOut: readonly Worker[] = [delivery, webhooks, ...(verification ? [verification] : [])];
  const workers: readonly Worker[] = [
    ...(config.deliveryEnabled ? reachingOut : []),
    ...workOnAttachments(logger, { deps: repeatable, readers }),
    ...contentHealth.probes,
    diskWatch(logger, deps),
    clock,
    pauseWatchOf(logger, readers),
    sendingRates,
    contentSweeperOf(config, logger, deps),
    domainRecheckOf(config, logger, { deps, readers }),
    apiKeyLastUseWriterOf(logger, deps),
    staleReservationsOf(logger, { deps, readers }),
    ...workOnErasures(config, logger, { deps: repeatable, readers, logId }),
  ];
  return {
    delivery,
    clockWatch: clock,
    sendingRates,
    relays: () => relays.list(delivery),
    inFlightCount: () => delivery.inFlightCount + webhooks.inFlightCount,
    webhooksInFlightCount: () => webhooks.inFlightCount,
    start() {
      for (const worker of workers) worker.start();
    },
    wake() {
      for (const worker of workers) worker.wake?.();
    },
    async stop(graceMs) {
      stop.abort(new ContentStoreError("given up: the service stops"));
      await Promise.all(workers.map((worker) => worker.stop(graceMs)));
    },
  };
}

const DISABLED_ENDPOINT =
  "a webhook endpoint is disabled: it answered 410 (gone), or nothing got through to it for five days (failing). POST /webhooks/{id}/enable and /recover bring back what it misses";

/** Explains why a destination is blocked, and what to do. */
function blockedText({ baseUrl }: Config, url: string): string {
  const pair = isLoopbackUrl(baseUrl) ? privateHostOf(url) : null;
  const remedy =
    pair === null
      ? "every address of its name must be public"
      : `if it is yours, under development, start the service with WEBHOOK_ALLOW_PRIVATE_HOSTS=${pair}; otherwise every address of its name must be public`;
  return `a webhook endpoint is not called, because its name leads to this machine or into a private network: ${remedy}`;
}

/**
 * Waits until a read model holds what the log does now; false after the store's time-out. Once `signal` aborts it is
 * false, or throws the reason.
 */
function caughtUpWait({ storeTimeoutMs }: Config, { deps, readers }: JobParts) {
  return async (name: ReadModelName, signal: AbortSignal) => {
    const head = await unlessAborted(signal, deps.store.head());
    return readers.waitForPosition(name, head, storeTimeoutMs, signal);
  };
}

function caughtUpCheckOf(readers: Readers, name: ReadModelName): (position: Position) => boolean {
  return (position) => readers.position(name) >= position;
}

function webhookDelivery(
  config: Config,
  logger: Logger,
  { readers, ...claiming }: JobParts & Claiming,
): WebhookDeliveryWorker {
  const { deps } = claiming;
  const waitUntilCaughtUp = caughtUpWait(config, { deps, readers });
  return new WebhookDeliveryWorker({
    ...claiming,
    transport: openWebhookTransport(config),
    deliveries: readers.reader("webhook-deliveries"),
    isCaughtUp: caughtUpCheckOf(readers, "webhook-deliveries"),
    waitUntilCaughtUp: (signal) => waitUntilCaughtUp("webhook-deliveries", signal),
    policy: config.webhooks.policy,
    callsPerEndpointMax: config.webhooks.callsPerEndpointMax,
    userAgent: "Postledger-Webhooks",
    random: Math.random,
    onTrouble: workerErrorLog({ logger, text: "webhook delivery was interrupted", idField: "deliveryId" }),
    endpointFailures: new EndpointFailureReports(deps.clock, endpointFailureLog(logger)),
    onDisabled: (endpoint) => logger.warn(endpoint, DISABLED_ENDPOINT),
    onBlockedDestination: ({ workspaceId, endpointId, url }) =>
      // Log only the host: paths of destinations may hold secrets.
      logger.warn({ workspaceId, endpointId, host: new URL(url).host }, blockedText(config, url)),
  });
}

interface MailJobParts extends JobParts, Claiming {
  readonly transport: MailTransport;
  readonly relayOutageReports: RelayOutageReports;
}

function pauseWatchOf(logger: Logger, readers: Readers) {
  const text = "looking for paused workspaces was interrupted";
  return pauseWatch(logger, readers, workerErrorLog({ logger, text }));
}

function sendingRateWatchOf({ sendingRates }: Config, logger: Logger, { deps, readers }: JobParts) {
  return sendingRateWatch({
    deps,
    emails: readers.reader("emails"),
    hasCaughtUp: () =>
      readers
        .status()
        .some(({ name, state, hasCaughtUp }) => name === "emails" && state === "live" && hasCaughtUp),
    worker: newId(),
    thresholds: sendingRates,
    onChange: sendingRateLog(logger),
    onTrouble: workerErrorLog({ logger, text: "looking at bounce and complaint rates was interrupted" }),
  });
}

function apiKeyLastUseWriterOf(logger: Logger, { apiKeyLastUse }: Dependencies) {
  return apiKeyLastUseWriter({
    apiKeyLastUse,
    worker: newId(),
    onTrouble: workerErrorLog({ logger, text: "could not record when keys were used" }),
  });
}

function staleReservationsOf(logger: Logger, { deps, readers }: JobParts) {
  return staleReservations({
    deps,
    reservations: readers.reader("storage-reservations"),
    worker: newId(),
    onTrouble: workerErrorLog({ logger, text: "looking for stale storage reservations failed" }),
  });
}

function mailDelivery(
  config: Config,
  logger: Logger,
  {
    readers,
    ...mailing
  }: MailJobParts &
    Pick<ServiceJobParts, "onSent"> & {
      readonly contentBreaker: ContentStoreHealth["reads"];
      readonly deferralReports: RelayDeferralReports;
    },
) {
  return new MailDeliveryWorker({
    ...mailing,
    refusalReports: new RelayRefusalReports(mailing.deps.clock, refusalLog(config, logger)),
    emails: readers.reader("emails"),
    isCaughtUp: caughtUpCheckOf(readers, "emails"),
    policy: config.deliveryPolicy,
    bounceDomains: config.bounceDomains,
    returnPathDomain: config.returnPathDomain,
    readSpacingMs: isEmbedded(config) ? 0 : REMOTE_READ_SPACING_MS,
    random: Math.random,
    onTrouble: workerErrorLog({ logger, text: "delivery was interrupted", idField: "emailId" }),
    onContentLost: lostContentLog(logger),
  });
}

function domainRecheckOf(config: Config, logger: Logger, { deps, readers }: JobParts) {
  return domainRecheckWorker({
    deps,
    senders: readers.reader("senders"),
    dns: createDnsResolver(config.dnsServers),
    worker: newId(),
    intervalMs: config.domainRecheckIntervalMs,
    onChange(change, { id, workspaceId }) {
      if (change === "found")
        logger.info({ senderId: id, workspaceId }, "the DNS record of a domain is back");
      else
        logger.warn(
          { senderId: id, workspaceId },
          "the DNS record of a verified domain is missing; the domain can still send",
        );
    },
    onTrouble: (error, senderId) =>
      logger.info({ senderId, reason: reasonOf(error) }, "could not check a verified domain again"),
  });
}

function contentSweeperOf(config: Config, logger: Logger, { store, content, instanceStatus }: Dependencies) {
  return orphanedContentSweeper({
    store,
    content,
    isHeld: async () => (await instanceStatus.get()).instance?.isHeld === true,
    intervalMs: config.contentSweepIntervalMs,
    random: Math.random,
    onSwept: ({ removed }) => {
      if (removed > 0) logger.info({ folders: removed }, "removed content that nothing refers to");
    },
    onTrouble: (error, folder) => logger.warn({ folder, reason: reasonOf(error) }, "a sweep was interrupted"),
  });
}

/** The workers that erase content past its retention, clean up after erasures, and erase people. */
function workOnErasures(
  config: Config,
  logger: Logger,
  { deps, readers, logId }: LogJobParts,
): readonly Worker[] {
  const directory = readModelDirectory(config);
  const kind = isEmbedded(config) ? "sqlite" : "eventstoredb";
  const shared = { deps, worker: newId(), random: Math.random };
  const onTrouble = workerErrorLog({ logger, text: ERASURE_INTERRUPTED, idField: "id" });
  const emails = readers.reader("emails");
  const waitUntilCaughtUp = caughtUpWait(config, { deps, readers });
  return [
    emailContentRetention({ ...shared, emails, onTrouble }),
    erasedContentCleanup({
      ...shared,
      checkpoint: contentCleanupCheckpointFile(
        join(config.dataDir, "erased-content.json"),
        `${logId} ${kind}`,
      ),
      noneUntil: readers.noneWatchedUntil,
      onTrouble: workerErrorLog({
        logger,
        text: "the clean-up of erased content was interrupted",
        idField: "stream",
      }),
    }),
    personErasure({
      ...shared,
      onTrouble,
      emails,
      erasures: readers.reader("erasures"),
      attachmentUse: readers.reader("attachment-use"),
      areCaughtUp: async (signal) =>
        (await waitUntilCaughtUp("emails", signal)) && (await waitUntilCaughtUp("attachment-use", signal)),
      emptyWriteAheadLogs: () => emptyWriteAheadLogs(sqliteReadDatabases, directory),
    }),
  ];
}

/** The workers that check uploads and delete files past their retention. */
function workOnAttachments(logger: Logger, { deps, readers }: JobParts): readonly Worker[] {
  return attachmentWorkers({
    deps,
    attachments: readers.reader("attachments"),
    attachmentUse: readers.reader("attachment-use"),
    worker: newId(),
    random: Math.random,
    onTrouble: workerErrorLog({ logger, text: "work on an attachment was interrupted", idField: "id" }),
  });
}

/** Null without an address to mail links from. */
function senderVerification(config: Config, logger: Logger, { readers, ...mailing }: MailJobParts) {
  const { verificationFrom: from, baseUrl } = config;
  if (from === null) return null;
  return new VerificationMailWorker({
    ...mailing,
    mails: readers.reader("senders"),
    isCaughtUp: caughtUpCheckOf(readers, "senders"),
    from,
    baseUrl: baseUrl.href.replace(/\/$/, ""),
    onTrouble: workerErrorLog({
      logger,
      text: "a verification mail was interrupted",
      idField: "verificationId",
    }),
  });
}
