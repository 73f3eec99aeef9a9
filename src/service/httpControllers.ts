import type { AnyElysia } from "elysia";
import { version } from "../../package.json";
import type { ReadModelName } from "../../projections/readModelName.ts";
import { createDnsResolver } from "../adapters/dns/dnsResolver.ts";
import { snsEndpoint } from "../adapters/https/snsEndpoint.ts";
import { ssrfCheck } from "../adapters/https/ssrfGuard.ts";
import { apiKeysController } from "../http/apiKey/apiKeysController.ts";
import { attachmentsController } from "../http/attachment/attachmentsController.ts";
import { auditLogController } from "../http/audit/auditLogController.ts";
import type { DashboardOptions } from "../http/dashboard/frame/dashboardOptions.ts";
import { emailsController } from "../http/email/emailsController.ts";
import { erasuresController } from "../http/erasure/erasuresController.ts";
import { feedbackController } from "../http/feedback/feedbackController.ts";
import { sesController } from "../http/feedback/sesController.ts";
import {
  type SignedReportsOptions,
  signedReportsController,
} from "../http/feedback/signedReportsController.ts";
import { healthController } from "../http/health/healthController.ts";
import { homeController } from "../http/home/homeController.ts";
import type { ReadModel } from "../http/lists/caughtUpReads.ts";
import { ReadScheduler } from "../http/lists/readScheduler.ts";
import { operations } from "../http/reference/allOperations.ts";
import { openApiDocument } from "../http/reference/openApiDocument.ts";
import { referenceController } from "../http/reference/referenceController.ts";
import { senderPagesController, sendersController } from "../http/sender/sendersController.ts";
import { createSenderVerification } from "../http/sender/verifySender.ts";
import { suppressionsController } from "../http/suppression/suppressionsController.ts";
import { templatesController } from "../http/template/templatesController.ts";
import { usageController } from "../http/usage/usageController.ts";
import { webhookEndpointsController } from "../http/webhook/webhookEndpointsController.ts";
import type { DestinationRules } from "../http/webhook/webhookUrlCheck.ts";
import { webhookDeliveriesController } from "../http/webhookDelivery/webhookDeliveriesController.ts";
import { workspaceController } from "../http/workspace/workspaceController.ts";
import { isLoopbackUrl } from "../kernel/network/isLoopback.ts";
import type { ContentStoreHealth } from "../reactors/content/contentStoreHealth.ts";
import type { MailDeliveryWorker } from "../reactors/email/mailDeliveryWorker.ts";
import type { FreezeWatch } from "../reactors/instance/freezeWatch.ts";
import type { Readers } from "../readModels/readModelReaders.ts";
import type { Config } from "./config/config.ts";
import type { UnmatchedFeedback } from "./logLines/unmatchedFeedback.ts";
import { openDashboard } from "./openDashboard.ts";
import type { LogDamage } from "./status/logDamage.ts";
import { readinessOf } from "./status/readiness.ts";
import { readModelBuild } from "./status/readModelBuildProgress.ts";

interface Serving extends Pick<DashboardOptions, "deps" | "relays" | "maintenance"> {
  readonly readers: Readers;
  readonly delivery: MailDeliveryWorker;
  readonly contentHealth: ContentStoreHealth;
  readonly freezeWatch: FreezeWatch;
  readonly damage: LogDamage;
  readonly unmatched: Pick<UnmatchedFeedback, "tell">;
  readonly onRefusedReport: SignedReportsOptions["onRefused"];
}

/** What answers requests: the controllers of the API, the dashboard beside them, and what `/health/ready` checks. */
export async function createControllers(config: Config, serving: Serving) {
  const { deps, damage, readers, delivery, contentHealth, freezeWatch, unmatched, onRefusedReport } = serving;
  const basePath = basePathOf(config);
  const scheduler = new ReadScheduler();
  const readModel = (name: ReadModelName): ReadModel => ({
    db: readers.reader(name),
    scheduler,
    whenCaughtUp: async (timeoutMs) => readers.waitForPosition(name, await deps.store.head(), timeoutMs),
  });
  const build = readModelBuild({ ...deps, readers });
  const readiness = readinessOf({
    config,
    deps,
    damage,
    readers,
    delivery,
    contentHealth,
    freezeWatch,
    readModelBuild: build,
  });
  const dns = createDnsResolver(config.dnsServers);
  const senderVerification = createSenderVerification({
    deps,
    dns,
    mailsLinks: config.verificationFrom !== null,
  });
  const shared = { deps, basePath, readModel };
  const destinationRules = destinationRulesOf(config);
  const dashboard = await openDashboard(config, {
    ...serving,
    ...shared,
    dns,
    readiness,
    readModelBuild: build,
    destinationRules,
    senderVerification,
  });
  const controllers: readonly AnyElysia[] = [
    emailsController({ ...shared, readWaitingReason: delivery.readWaitingReason(config.deliveryEnabled) }),
    usageController(shared),
    attachmentsController(shared),
    webhookEndpointsController({ ...shared, rules: destinationRules }),
    webhookDeliveriesController(shared),
    suppressionsController(shared),
    ...feedbackControllers(config, { deps, readModel, unmatched, onRefusedReport }),
    workspaceController(shared),
    auditLogController(shared),
    erasuresController(shared),
    apiKeysController(shared),
    sendersController({ ...shared, verification: senderVerification }),
    senderPagesController(deps),
    templatesController(shared),
    healthController(readiness),
    dashboard.controller,
    homeController({ readiness, version, basePath }),
    referenceController({
      basePath,
      document: () => openApiDocument({ operations, baseUrl: config.baseUrl, version }),
    }),
  ];
  return { controllers, dashboard, readiness };
}

interface TakingFeedback extends Pick<Serving, "deps" | "unmatched" | "onRefusedReport"> {
  readonly readModel: (name: ReadModelName) => ReadModel;
}

/** What providers report of mail: with a key, through Amazon SNS, and signed. */
function feedbackControllers(
  { bounceDomains, sesTopicArns, reportSecrets }: Config,
  { deps, readModel, unmatched, onRefusedReport: onRefused }: TakingFeedback,
): readonly AnyElysia[] {
  const feedback = { bounceDomains, onUnmatched: unmatched.tell };
  return [
    feedbackController({ ...deps, ...feedback, readModel }),
    sesController({ deps, sns: snsEndpoint, topicArns: new Set(sesTopicArns), ...feedback }),
    signedReportsController({ ...deps, ...feedback, readModel, onRefused, ...reportSecrets }),
  ];
}

function destinationRulesOf({ dnsServers, webhooks, baseUrl }: Config): DestinationRules {
  const { allowedPrivateHosts } = webhooks;
  const destinations = ssrfCheck({ dnsServers, allowedPrivateHosts });
  return { destinations, allowedPrivateHosts, isDevelopment: isLoopbackUrl(baseUrl) };
}

/** The path of BASE_URL, "" or "/prefix". */
export function basePathOf({ baseUrl }: Pick<Config, "baseUrl">): string {
  return baseUrl.pathname.replace(/\/$/, "");
}
