import type { AnyElysia } from "elysia";
import type { Logger } from "pino";
import type { Principal } from "../commands/apiKey/authenticate.ts";
import type { Dependencies } from "../commands/dependencies.ts";
import { BodyAdmissionControl } from "../http/body/bodyAdmission.ts";
import { makeRateLimits } from "../http/limits/rateLimits.ts";
import type { RequestsInFlight } from "../http/limits/requestsInFlight.ts";
import { requestLog } from "../http/server/requestLog.ts";
import { type OpenPort, openPort } from "../http/server/server.ts";
import type { SubmissionPort } from "../ports/submission/submissionServer.ts";
import type { Config } from "./config/config.ts";
import { basePathOf } from "./httpControllers.ts";
import { type InboundMail, openInboundMail } from "./inboundMail.ts";
import { openSubmission } from "./openSubmission.ts";
import { listenError } from "./startupErrors.ts";

/** What requests are answered with. */
interface Answering {
  readonly deps: Dependencies;
  readonly controllers: readonly AnyElysia[];
  readonly requests: RequestsInFlight;
  /** Whether the log goes on elsewhere. */
  readonly isClosed: () => boolean | Promise<boolean>;
}

/** The ports of the service: HTTP, and SMTP where that is set. */
export interface Listeners {
  readonly url: URL;
  /** Null where nothing is taken over SMTP. */
  readonly submission: SubmissionPort<Principal> | null;
  /** Null where nothing that comes back is taken. */
  readonly inbound: InboundMail | null;
  /** From now on requests are answered; those that have come before have waited for it. */
  answer(answering: Answering): void;
  /** Requests and mails that have no whole answer yet. */
  inFlightCount(): number;
  /** Lets what is in flight finish and refuses what is new. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

/** Takes the ports. Throws what says why one of them cannot be had. */
export async function openListeners(config: Config, logger: Logger): Promise<Listeners> {
  const { requestTimeoutMs, trustedProxies } = config;
  const log = requestLogOf(config, logger);
  const port = bindPort(config, log);
  const submission = await openSubmission(config, logger).catch(async (error: unknown) => {
    await port.kill();
    throw error;
  });
  const inbound = await openInboundMail(config, logger).catch(async (error: unknown) => {
    submission?.kill();
    await port.kill();
    throw error;
  });
  // What callers use up is one for both.
  const rateLimits = makeRateLimits(config.authFailuresPerMinute);
  const bodies = new BodyAdmissionControl(config.bodyBytesInFlightMax);
  const shared = { rateLimits, bodies, log, requestTimeoutMs };
  return {
    url: port.url,
    submission: submission?.port ?? null,
    inbound,
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
    async stop() {
      await Promise.all([port.stop(), submission?.stop(), inbound?.stop(config.drainTimeoutMs)]);
    },
    async kill() {
      submission?.kill();
      await Promise.all([port.kill(), inbound?.stop(0)]);
    },
  };
}

type RequestLog = ReturnType<typeof requestLog>;

function bindPort(config: Config, log: RequestLog): OpenPort {
  try {
    return openPort({ host: config.host, port: config.port, log });
  } catch (error) {
    throw listenError(config, error);
  }
}

function requestLogOf(config: Config, logger: Logger): RequestLog {
  return requestLog({
    isWhole: config.logRequests === "all",
    lines: logger,
    after: (delayMs, act) => void setTimeout(act, delayMs).unref(),
  });
}
