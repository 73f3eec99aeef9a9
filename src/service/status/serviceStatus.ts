import { version } from "../../../package.json";
import { projections } from "../../../projections/index.ts";
import { descriptorLimit } from "../../adapters/system/descriptorLimit.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { instanceStatusCache } from "../../commands/instance/instanceStatusCache.ts";
import { invariant } from "../../kernel/assert.ts";
import { lazy } from "../../kernel/lazy.ts";
import { hostInUrl } from "../../kernel/network/isLoopback.ts";
import { counted } from "../../kernel/text/readableNumbers.ts";
import type { Position } from "../../ports/eventStore.ts";
import type { SubmissionServer } from "../../ports/submission/submissionServer.ts";
import type { MailDeliveryWorker } from "../../reactors/email/mailDeliveryWorker.ts";
import type { SendingRateWatch } from "../../reactors/workspace/sendingRateWatch.ts";
import { behindSince } from "../../readModels/behindSince.ts";
import { missingFile } from "../../readModels/generations/missingFile.ts";
import { logReadFraction } from "../../readModels/logReadProgress.ts";
import type { ReaderStatus, Readers } from "../../readModels/readModelReaders.ts";
import { mailDestination } from "../adapters/openMailTransport.ts";
import { isEmbedded } from "../adapters/openStore.ts";
import type { Config } from "../config/config.ts";
import { readModelDirectory } from "../config/storeConfig.ts";
import type { UnmatchedFeedback } from "../logLines/unmatchedFeedback.ts";
import type { InboundMail } from "../openInboundMail.ts";
import { ageText } from "./ageText.ts";
import { allChecks } from "./checks/allChecks.ts";
import { apiKeyChecks } from "./checks/apiKeyChecks.ts";
import { bootstrapKeyChecks } from "./checks/bootstrapKeyChecks.ts";
import { type Check, failed, ok, warning } from "./checks/check.ts";
import { clockChecks, latestDated } from "./checks/clockChecks.ts";
import { contentRoomChecks } from "./checks/contentRoomChecks.ts";
import { deliveryWorkersCheck } from "./checks/deliveryWorkersCheck.ts";
import { descriptorChecks } from "./checks/descriptorCheck.ts";
import { erasureChecks } from "./checks/erasureChecks.ts";
import { limitChecks } from "./checks/limitChecks.ts";
import { logChecks, unreadableLog } from "./checks/log/logChecks.ts";
import { readModelLag, stoppedReadModel } from "./checks/log/readModelChecks.ts";
import { pauseChecks } from "./checks/pauseChecks.ts";
import { sendingRateChecks } from "./checks/sendingRateChecks.ts";
import { webhookEndpointChecks } from "./checks/webhookEndpointChecks.ts";
import type { ClockWatch } from "./clockWatch.ts";
import { headIfAnswering } from "./headIfAnswering.ts";
import { DAMAGED_LOG_REMEDY, type LogDamage } from "./logDamage.ts";
import { messagesDue } from "./messagesDue.ts";

/** How long the store may take before it counts as not answering. */
const STORE_MS_MAX = 5_000;
/** The kinds of returned mail, for people. */
const RETURNED: Readonly<Record<string, string>> = {
  bounced: "bounces",
  delivered: "deliveries",
  underway: "delays",
  reported: "complaints",
  autoReply: "automatic replies",
  unknown: "something else",
};

interface StatusOptions {
  readonly config: Config;
  readonly deps: Dependencies;
  readonly damage: Pick<LogDamage, "reason">;
  readonly readers: Readers;
  readonly delivery: MailDeliveryWorker;
  readonly clockWatch: Pick<ClockWatch, "latestSeen" | "jumpAhead">;
  readonly logId: string;
  readonly url: URL;
  /** Where mail is taken over SMTP; null if it is not. */
  readonly submission: Pick<SubmissionServer<unknown>, "host" | "port" | "connections"> | null;
  readonly inbound: Pick<InboundMail, "port" | "counts"> | null;
  readonly unmatched: Pick<UnmatchedFeedback, "counts">;
  readonly sendingRates: Pick<SendingRateWatch, "high">;
  inFlight(): { readonly requests: number; readonly deliveries: number };
}

/** What a running service reports about itself and its dependencies, as seen from where it runs. */
export function serviceStatus(options: StatusOptions): () => Promise<readonly Check[]> {
  const startedAt = Date.now();
  const { config, deps, readers, clockWatch } = options;
  return () =>
    allChecks({
      config,
      content: deps.content,
      service: [
        serviceCheck(options, startedAt),
        configurationCheck(config),
        ...descriptorChecks(descriptorLimit()),
        ...clockChecks(
          {
            latest: Math.max(clockWatch.latestSeen(), latestDated(readers)),
            jumpAhead: clockWatch.jumpAhead(),
          },
          deps.clock.now(),
        ),
        ...submissionChecks(options),
        ...returnedMailChecks(options),
        ...unmatchedFeedbackChecks(options),
      ],
      log: async () => {
        const [log, readModels, firstKey, limits, room] = await Promise.all([
          logChecksOf(options),
          readModelChecks(options),
          // A log that cannot be read is reported by its own check.
          bootstrapKeyChecks(config, deps.store).catch(() => []),
          limitChecks(deps),
          contentRoomChecks(config, deps, readers.reader("emails")),
        ]);
        return { log: [...log, ...limits, ...room], readModels, firstKey };
      },
      workers: async () => [
        deliveryWorkersCheck({
          config,
          delivery: options.delivery,
          deliveriesInFlight: options.inFlight().deliveries,
          due: await messagesDue(deps, readers),
          now: deps.clock.now(),
        }),
        ...apiKeyChecks(readers.reader("api-keys"), deps.clock.now()),
        ...pauseChecks(readers.reader("audit-log")),
        ...(await sendingRateChecks(config, deps, options.sendingRates)),
        ...erasureChecks(readers.reader("erasures"), deps.clock.now()),
        ...webhookEndpointChecks(() => readers.reader("webhook-deliveries"), deps.clock.now()),
      ],
    });
}

function serviceCheck({ url, inFlight }: StatusOptions, startedAt: number): Check {
  const { requests } = inFlight();
  return ok(
    "service",
    `running at ${url.origin} for ${ageText(Date.now() - startedAt)} (version ${version}, process ${process.pid}), ${counted(requests, "request")} under way; it made the checks below`,
  );
}

function configurationCheck(config: Config): Check {
  const store = isEmbedded(config) ? "embedded store" : "EventStoreDB";
  const delivery = config.deliveryEnabled ? "delivery on" : "delivery off";
  return ok(
    "configuration",
    `${store}, mail to ${mailDestination(config)}, ${delivery}, BASE_URL ${config.baseUrl.href}`,
  );
}

function submissionChecks({ config, submission }: StatusOptions): readonly Check[] {
  if (submission === null) return [];
  const { host, port } = submission;
  const tls = config.submission?.tls ?? null;
  const secured = tls === null ? "without TLS" : tls.isImplicit ? "with TLS" : "with STARTTLS";
  const open = counted(submission.connections(), "connection");
  return [
    ok("submission", `mail is taken over SMTP at ${hostInUrl(host)}:${port}, ${secured}, ${open} open`),
  ];
}

/** The mail returned since the start. */
function returnedMailChecks({ inbound, config }: StatusOptions): readonly Check[] {
  if (inbound === null) return [];
  const read = [...inbound.counts].map(([kind, count]) => `${count} ${RETURNED[kind] ?? kind}`);
  const what = read.length === 0 ? "nothing came back yet" : `read as ${read.join(", ")}`;
  const tls = config.inbound?.tls ? ", with STARTTLS" : "";
  return [ok("returned mail", `taken on port ${inbound.port}${tls}; ${what}`)];
}

/** What providers have reported in vain since the start. It may be as it should: see the page that it names. */
function unmatchedFeedbackChecks({ unmatched }: StatusOptions): readonly Check[] {
  if (unmatched.counts.size === 0) return [];
  const read = [...unmatched.counts].map(([source, count]) => `${counted(count, "report")} from ${source}`);
  const what = `${read.join(" and ")} matched no message`;
  return [ok("provider reports", `${what} (docs/bounces-and-complaints.md, reports that match no message)`)];
}

/** A file that is put back is the one that is open, as long as the service runs. */
const EMBEDDED_LOG_REMEDY =
  "put the log's files back where they were, while the service runs; if events.db is lost, stop it and restore a backup; if only events.db-wal or events.db-shm is, stop it (SIGTERM) and start it again (docs/operations.md)";

/** If the store does not answer, or has been found damaged, that is the only finding about the log. */
async function logChecksOf({ config, deps, damage, logId }: StatusOptions): Promise<readonly Check[]> {
  if (damage.reason !== null) return [failed("log", damage.reason, DAMAGED_LOG_REMEDY)];
  const began = performance.now();
  try {
    await deps.store.head({ timeoutMs: STORE_MS_MAX });
    const answeredMs = Math.round(performance.now() - began);
    // Bypass the cache: after `delivery resume` the operator must not hear that mail is held.
    const instanceStatus = instanceStatusCache(deps.store);
    const format = (await instanceStatus.get()).instance?.format ?? 1;
    return await logChecks({ store: deps.store, instanceStatus }, { logId, config, answeredMs, format });
  } catch (error) {
    const remedy = isEmbedded(config)
      ? EMBEDDED_LOG_REMEDY
      : "start the store, or check STORE_URL of the service";
    return [unreadableLog(error as Error, config, remedy)];
  }
}

async function readModelChecks({ config, readers, deps }: StatusOptions): Promise<readonly Check[]> {
  const directory = readModelDirectory(config);
  const headOfLog = lazy(() => headIfAnswering(deps.store, STORE_MS_MAX));
  const checks = readers.status().map(async (status) => {
    const { name, state, position, isCaughtUp, failure, file } = status;
    if (failure !== null) return stoppedReadModel(name, failure, config);
    // An open file works on after its removal, but no command finds it, and it is gone with the process.
    const missing = file === null ? null : missingFile(directory, { name, file });
    // The text itself says what to do.
    if (missing !== null) return failed(`read model ${name}`, missing, null);
    if (isCaughtUp) return readModelLag(name, null, null);
    const projection = projections.find((one) => one.name === name);
    invariant(projection, "what is read is one of ours");
    if (state !== "absent") {
      const since = await behindSince(deps.store, projection, position);
      return readModelLag(name, since, { firstRead: await firstReadOf(status, headOfLog) });
    }
    return warning(`read model ${name}`, "not built yet", "wait: it catches up by itself");
  });
  return Promise.all(checks);
}

/** The share of the log that a read model has read, from 0 to 1; null once it was at its head, or if nobody knows. */
async function firstReadOf(
  { position, hasCaughtUp }: ReaderStatus,
  headOfLog: () => Promise<Position | null>,
): Promise<number | null> {
  const head = hasCaughtUp ? null : await headOfLog();
  return head === null ? null : logReadFraction({ position, head });
}
