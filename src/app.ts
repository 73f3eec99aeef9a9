import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";
import { version } from "../package.json";
import { projections } from "../projections/index.ts";
import { isSuppressed } from "../projections/suppressions.ts";
import { createDnsResolver } from "./adapters/dns/dnsResolver.ts";
import { liquidEngine } from "./adapters/liquidjs/liquidEngine.ts";
import { lockDirectory } from "./adapters/sqlite/directoryLock.ts";
import { sqliteReadDatabases } from "./adapters/sqlite/readDatabase.ts";
import { diskSpaceOf } from "./adapters/system/diskSpace.ts";
import { systemClock } from "./adapters/system/systemClock.ts";
import { CONTENT_SWEEP_AGE_MS } from "./commands/contentAge.ts";
import { recentEmails } from "./commands/recentEmails.ts";
import { makeServices, type Services } from "./commands/services.ts";
import { type Config, ConfigError } from "./config.ts";
import { bootstrap, bootstrapKeyPath } from "./firstRun.ts";
import { apiKeysController } from "./http/apiKeys.ts";
import { attachmentsController } from "./http/attachments.ts";
import { emailsController } from "./http/emails.ts";
import { healthController } from "./http/health.ts";
import { openApiDocument } from "./http/openApi.ts";
import { operations } from "./http/operations.ts";
import type { ReadModel } from "./http/readModel.ts";
import { referenceController } from "./http/reference.ts";
import { senderPagesController, sendersController } from "./http/senders.ts";
import { listen, type RequestLine } from "./http/server.ts";
import { suppressionsController } from "./http/suppressions.ts";
import { templatesController } from "./http/templates.ts";
import { webhooksController } from "./http/webhooks.ts";
import { workspaceController } from "./http/workspace.ts";
import { newId } from "./kernel/ids.ts";
import {
  isEmbedded,
  openContentStore,
  openInspector,
  openLogInstance,
  openStore,
  openTransport,
} from "./openParts.ts";
import type { EventStore } from "./ports/eventStore.ts";
import type { MailTransport } from "./ports/mailTransport.ts";
import { attachmentChecks } from "./reactors/attachmentChecks.ts";
import { attachmentRetention } from "./reactors/attachmentRetention.ts";
import { ContentSweeper } from "./reactors/contentSweeper.ts";
import { MailDelivery } from "./reactors/mailDelivery.ts";
import type { RowWorker } from "./reactors/rowWorker.ts";
import { SenderVerification } from "./reactors/senderVerification.ts";
import { readinessOf } from "./readiness.ts";
import { hostReadModels } from "./readModelHost.ts";
import { openReaders, type Readers } from "./readModels/readers.ts";

/** On a store in another process a read costs as much as half an append; on the embedded one nearly nothing. */
const REMOTE_READ_SPACING_MS = 25;

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
  const store = await openStore(config);
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
  const attachmentWork = workOnAttachments(logger, services, readers);
  const transport = openTransport(config);
  const delivery = mailDelivery(config, logger, { services, readers, transport });
  const verification = senderVerification(config, logger, { services, readers, transport });
  const { storeUrl, storeTimeoutMs, dataDir } = config;
  const readModels = hostReadModels({
    start: { storeUrl, storeTimeoutMs, dataDir, logId },
    onEvent(event) {
      readers.receive(event);
      if (event.type === "failed")
        logger.error({ readModel: event.name, reason: event.reason }, "read model stopped");
      delivery.wake();
      for (const worker of attachmentWork) worker.wake();
    },
    onFailure: (reason) => logger.error({ reason }, "the read models' thread failed; it begins again"),
  });
  await readersOpen(readers, config.storeTimeoutMs);
  for (const worker of attachmentWork) worker.start();
  if (config.deliveryEnabled) {
    delivery.start();
    verification?.start();
  }
  const sweeper = contentSweeper(config, logger, services);
  sweeper.start();
  const server = serve(config, logger, { services, readers, delivery });
  return {
    url: server.url,
    bootstrapKey,
    hasBootstrapKey: existsSync(bootstrapKeyPath(config.dataDir)),
    async stop() {
      const workers = [delivery, ...(verification ? [verification] : []), ...attachmentWork];
      const stopped = workers.map((worker) => worker.stop(config.drainTimeoutMs));
      const drained = Promise.all([server.stop(), sweeper.stop(), ...stopped]);
      const timer = setTimeout(() => server.kill(), config.drainTimeoutMs);
      await drained;
      clearTimeout(timer);
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

interface Mailing {
  readonly services: Services;
  readonly readers: Readers;
  readonly transport: MailTransport;
}

function mailDelivery(config: Config, logger: Logger, { services, readers, transport }: Mailing) {
  return new MailDelivery({
    services,
    transport,
    due: readers.reader("due"),
    policy: config.deliveryPolicy,
    readSpacingMs: isEmbedded(config) ? 0 : REMOTE_READ_SPACING_MS,
    worker: newId(),
    random: Math.random,
    onTrouble: (error, emailId) =>
      logger.warn({ emailId, reason: reasonOf(error) }, "delivery was interrupted"),
  });
}

function contentSweeper(config: Config, logger: Logger, { store, content }: Services): ContentSweeper {
  return new ContentSweeper({
    store,
    content,
    ageMs: CONTENT_SWEEP_AGE_MS,
    intervalMs: config.contentSweepIntervalMs,
    random: Math.random,
    onSwept: ({ removed }) => {
      if (removed > 0) logger.info({ folders: removed }, "content that nothing names was removed");
    },
    onTrouble: (error, folder) => logger.warn({ folder, reason: reasonOf(error) }, "a sweep was interrupted"),
  });
}

/** What checks uploads, and what lets go of files whose time is over. */
function workOnAttachments(logger: Logger, services: Services, readers: Readers): readonly RowWorker[] {
  const shared = {
    services,
    attachments: readers.reader("attachments"),
    actor: `worker:${newId()}`,
    random: Math.random,
    onTrouble: (error: unknown, id: string) =>
      logger.warn({ id, reason: reasonOf(error) }, "work on an attachment was interrupted"),
  };
  const messageFiles = readers.reader("message-files");
  return [attachmentChecks(shared), attachmentRetention({ ...shared, messageFiles })];
}

/** Null where there is no address to mail links from. */
function senderVerification(config: Config, logger: Logger, { services, readers, transport }: Mailing) {
  const { verificationFrom: from, baseUrl } = config;
  if (from === null) return null;
  return new SenderVerification({
    services,
    transport,
    mails: readers.reader("senders"),
    from,
    baseUrl: baseUrl.href.replace(/\/$/, ""),
    worker: newId(),
    onTrouble: (error, verificationId) =>
      logger.warn({ verificationId, reason: reasonOf(error) }, "a verification mail was interrupted"),
  });
}

interface Serving {
  readonly services: Services;
  readonly readers: Readers;
  readonly delivery: MailDelivery;
}

function serve(config: Config, logger: Logger, { services, readers, delivery }: Serving) {
  const basePath = config.baseUrl.pathname.replace(/\/$/, "");
  const readModel = (name: string): ReadModel => ({
    db: readers.reader(name),
    whenCurrent: async (timeoutMs) => readers.waitForPosition(name, await services.store.head(), timeoutMs),
  });
  const controllers = [
    emailsController({ services, basePath, emails: readers.reader("emails") }),
    attachmentsController({ services, basePath, attachments: readModel("attachments") }),
    webhooksController({
      services,
      endpoints: readers.reader("webhook-endpoints"),
      whenEndpoints: (ready, timeoutMs) => readers.waitFor("webhook-endpoints", ready, timeoutMs),
    }),
    suppressionsController({ services, basePath, suppressions: readModel("suppressions") }),
    workspaceController({ services, emails: readModel("emails") }),
    apiKeysController({ services, basePath, apiKeys: readModel("api-keys") }),
    sendersController({
      services,
      basePath,
      senders: readModel("senders"),
      dns: createDnsResolver(config.dnsServers),
      mailsLinks: config.verificationFrom !== null,
    }),
    senderPagesController(services),
    templatesController({ services, basePath, templates: readModel("templates") }),
    healthController(readinessOf({ config, services, readers, delivery })),
    referenceController({
      basePath,
      document: openApiDocument({ operations, baseUrl: config.baseUrl, version }),
    }),
  ];
  return listen({
    host: config.host,
    port: config.port,
    basePath,
    requestTimeoutMs: config.requestTimeoutMs,
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

/** What a log line says of an error: its kind and message, which by our rule carry no address, key or content. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : "";
  return `${error.name}: ${error.message}${cause}`;
}
