import { createLogger } from "../adapters/pino/logger.ts";
import { type RunningApp, startApp } from "../app.ts";
import { type Config, isLoopback } from "../config.ts";
import { bootstrapKeyPath, firstCurl } from "../firstRun.ts";

/** Runs the service until SIGTERM or SIGINT, then drains it. A second signal ends it at once. */
export async function serve(config: Config): Promise<void> {
  const logger = createLogger(config.logLevel);
  const app = await startApp(config, logger);
  greet(config, app);
  logger.info({ url: app.url.href, store: config.storeUrl.split(":", 1)[0] }, "listening");
  const signal = await new Promise<string>((resolve) => {
    for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, () => resolve(name));
  });
  for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, () => process.exit(1));
  logger.info({ signal, drainTimeoutMs: config.drainTimeoutMs }, "draining");
  await app.stop();
  logger.info("stopped");
}

/** Tells a person what to do next. The key itself is shown on a terminal only: standard output may be a log. */
function greet(config: Config, { url, bootstrapKey, hasBootstrapKey }: RunningApp): void {
  const lines = [`Postledger listens on ${url.href}`];
  if (bootstrapKey !== null && process.stdout.isTTY) lines.push(`API key (once): ${bootstrapKey}`);
  if (hasBootstrapKey) {
    lines.push(`API key in ${bootstrapKeyPath(config.dataDir)}. Send a first email:`, "");
    lines.push(firstCurl(url.origin + config.baseUrl.pathname.replace(/\/$/, ""), config.dataDir), "");
  }
  if (config.smtpUrl.startsWith("outbox:") && isLoopback(config.host)) {
    lines.push(`No SMTP_URL: mail is written to ${config.dataDir}/outbox/*.eml and goes nowhere else.`);
  }
  process.stdout.write(`${lines.join("\n")}\n`);
}
