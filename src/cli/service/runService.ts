import type { Logger } from "pino";
import { createLogger } from "../../adapters/pino/logger.ts";
import { descriptorLimit } from "../../adapters/system/descriptorLimit.ts";
import { sleep } from "../../kernel/concurrency/sleep.ts";
import { endWindows } from "../../kernel/logRateLimit.ts";
import { counted } from "../../kernel/text/readableNumbers.ts";
import type { Config } from "../../service/config/config.ts";
import type { RunningApp } from "../../service/runApp.ts";
import { startApp } from "../../service/startApp.ts";
import { startupBanner } from "./startupBanner.ts";
import { startupWarnings } from "./startupWarnings.ts";
import { handleStopSignals, type StopSignal, statusOf } from "./stopSignals.ts";

/** Runs the service until SIGTERM, SIGINT or SIGHUP, then drains it. A later signal ends it at once. */
export async function runService(config: Config): Promise<void> {
  const logger = createLogger(config.logLevel, config.logFormat);
  // Registered before the service claims anything or says that it listens.
  const stopAsked = firstSignal(logger);
  const app = await startUnlessStopped(config, logger, stopAsked);
  if (app === null) {
    logger.info({ signal: await stopAsked }, "stopped before it had started");
    return;
  }
  const isGreeted = process.stdout.isTTY === true;
  if (isGreeted) process.stdout.write(startupBanner(config, { ...app, logInLink: await logInLink(app) }));
  logger.info({ url: app.url.href, store: config.storeUrl.split(":", 1)[0] }, "listening");
  if (app.submission !== null) logger.info(app.submission, "taking mail over SMTP");
  if (app.inbound !== null) logger.info(app.inbound, "taking mail that comes back");
  if (app.metrics !== null) logger.info({ url: new URL("/metrics", app.metrics).href }, "answering metrics");
  for (const warning of startupWarnings(config, {
    ...app,
    isGreeted,
    descriptorLimit: descriptorLimit(),
  }))
    logger.warn(warning);
  const signal = await stopAsked;
  logDrain(config, logger, { app, signal });
  await app.stop();
  endWindows();
  const { deliveries } = app.inFlight();
  if (deliveries > 0)
    logger.warn(
      { deliveries },
      "stopped before every delivery had ended: the rest is retried at the next start on this DATA_DIR, or when its lease ends",
    );
  else logger.info("stopped");
}

/** How long a start that is to end may still write. What it has begun, the next one finishes. */
const START_ENDS_MS_MAX = 4_000;

/** The service once it runs; null if it was asked to stop before that. */
async function startUnlessStopped(
  config: Config,
  logger: Logger,
  stopAsked: Promise<StopSignal>,
): Promise<RunningApp | null> {
  const stop = new AbortController();
  const isLate = stopAsked.then(async () => {
    stop.abort();
    await sleep(START_ENDS_MS_MAX);
    return null;
  });
  try {
    return await Promise.race([startApp(config, logger, stop.signal), isLate]);
  } catch (error) {
    if (error === stop.signal.reason) return null;
    throw error;
  }
}

/** A link to the dashboard while an installation is new; null later, or if it has several workspaces. */
async function logInLink(app: RunningApp): Promise<string | null> {
  if (app.bootstrapKey === null) return null;
  const answer = await app.dashboardLink(null);
  return answer.kind === "link" ? answer.url : null;
}

/** Waits for the first signal; a later one ends the process. */
function firstSignal(logger: Logger): Promise<StopSignal> {
  return new Promise((resolve) => {
    handleStopSignals({
      drain: resolve,
      endAtOnce(signal) {
        endWindows();
        logger.warn(
          { signal },
          "ended at once: a delivery that was in flight is retried at the next start on this DATA_DIR, or when its lease ends",
        );
        process.exit(statusOf(signal));
      },
    });
  });
}

interface Draining {
  readonly app: RunningApp;
  readonly signal: StopSignal;
}

/** Says what it waits for: a sentence on a terminal, a log line elsewhere. */
function logDrain({ drainTimeoutMs }: Config, logger: Logger, { app, signal }: Draining): void {
  const { requests, deliveries } = app.inFlight();
  // After SIGHUP the terminal is usually gone.
  const isShown = process.stdout.isTTY === true && signal !== "SIGHUP";
  if (isShown) process.stdout.write(drainSentence(requests, deliveries));
  // With both on one screen, one of the two is enough.
  if (isShown && process.stderr.isTTY) return;
  logger.info({ signal, requests, deliveries, drainTimeoutMs }, "draining");
}

function drainSentence(requests: number, deliveries: number): string {
  if (requests + deliveries === 0) return "\nStopping…\n";
  const finished = `${counted(requests, "request")} and ${counted(deliveries, "delivery", "deliveries")}`;
  return `\nFinishing ${finished}… press Ctrl-C again to stop at once.\n`;
}
