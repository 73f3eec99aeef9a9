import type { Logger } from "pino";
import type { Principal } from "../commands/apiKey/authenticate.ts";
import type { Dependencies } from "../commands/dependencies.ts";
import { BodyAdmissionControl } from "../http/body/bodyAdmission.ts";
import { createRateLimits } from "../http/limits/rateLimits.ts";
import { type OpenPort, openPort } from "../http/server/openPort.ts";
import type { ServerOptions } from "../http/server/requestHandler.ts";
import { type RequestLog, requestLog } from "../http/server/requestLog.ts";
import type { SubmissionServer } from "../ports/submission/submissionServer.ts";
import type { Config } from "./config/config.ts";
import { listenError } from "./faults/startupErrors.ts";
import { basePathOf } from "./httpControllers.ts";
import type { EventAndRequestCounts } from "./metrics/eventAndRequestCounts.ts";
import { type MetricsListener, openMetricsListener } from "./metrics/metricsListener.ts";
import { type InboundMail, openInboundMail } from "./openInboundMail.ts";
import { openSubmission } from "./openSubmission.ts";

interface Answering extends Pick<ServerOptions, "controllers" | "requests" | "isClosed"> {
  readonly deps: Dependencies;
}

/** The ports of the service: HTTP, and the optional ones for SMTP and metrics. */
export interface Listeners {
  readonly url: URL;
  /** Null if no mail is taken over SMTP. */
  readonly submission: SubmissionServer<Principal> | null;
  /** Null if no returned mail is taken. */
  readonly inbound: InboundMail | null;
  /** Null if metrics are off. */
  readonly metrics: MetricsListener | null;
  /** Starts answering requests; those that came before have waited for it. */
  answer(answering: Answering): void;
  /** Requests and mails without a complete answer yet. */
  inFlightCount(): number;
  /** Refuses the requests and mails that are still arriving, which may take long, and says why. */
  refuseArriving(reason: string): void;
  /** Lets what is in flight finish and refuses what is new. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

/** Opens the ports. Throws why one of them cannot be opened. `counts` counts what they answer. */
export async function openListeners(
  config: Config,
  logger: Logger,
  counts: EventAndRequestCounts | null,
): Promise<Listeners> {
  const { requestTimeoutMs, trustedProxies } = config;
  const isWhole = config.logRequests === "all";
  const lines = requestLog({ isWhole, lines: logger });
  const log = counts?.countedLog(lines) ?? lines;
  // Closes the ports already opened if another cannot be.
  await using undo = new AsyncDisposableStack();
  const port = bindPort(config, log);
  undo.defer(() => port.kill());
  const metrics = config.metrics && openMetricsListener(config.metrics);
  undo.defer(() => metrics?.stop());
  const submission = await openSubmission(config, logger);
  undo.defer(() => submission?.kill());
  const inbound = await openInboundMail(config, logger);
  undo.move();
  // HTTP and SMTP share one budget.
  const rateLimits = createRateLimits(config.authFailuresPerMinute);
  const bodies = new BodyAdmissionControl(config.bodyBytesInFlightMax);
  const shared = { rateLimits, bodies, log, requestTimeoutMs };
  return {
    url: port.url,
    submission: submission?.port ?? null,
    inbound,
    metrics,
    answer({ deps, controllers, requests, isClosed }) {
      port.answer({
        ...shared,
        basePath: basePathOf(config),
        trustedProxies,
        controllers,
        requests,
        isClosed,
      });
      submission?.answer({ ...shared, deps, requests, isClosed });
      inbound?.answer(deps, isClosed);
    },
    inFlightCount: () => port.pending() + (submission?.port.taking() ?? 0),
    refuseArriving: (reason) => bodies.refuseAll(reason),
    async stop() {
      await Promise.all([port.stop(), submission?.stop(), inbound?.stop(config.drainTimeoutMs)]);
      await metrics?.stop();
    },
    async kill() {
      submission?.kill();
      await Promise.all([port.kill(), inbound?.stop(0), metrics?.stop()]);
    },
  };
}

function bindPort(config: Config, log: RequestLog): OpenPort {
  try {
    return openPort({ host: config.host, port: config.port, log });
  } catch (error) {
    throw listenError("", config, error);
  }
}
