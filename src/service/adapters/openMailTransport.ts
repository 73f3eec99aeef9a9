import { join } from "node:path";
import { createEmlFileTransport } from "../../adapters/nodemailer/emlFileTransport.ts";
import { outboxCleanup } from "../../adapters/nodemailer/outboxCleanup.ts";
import { smtpOptionsFromUrl } from "../../adapters/nodemailer/smtpOptions.ts";
import { createSmtpTransport } from "../../adapters/nodemailer/smtpTransport.ts";
import { systemClock } from "../../adapters/system/systemClock.ts";
import type { MailTransport } from "../../ports/mailTransport.ts";
import type { OutboxCleanup } from "../../ports/outboxCleanup.ts";
import type { Config } from "../config/config.ts";

/** Whether mail goes to files and not to a relay. */
export function isOutbox({ smtpUrl }: Pick<Config, "smtpUrl">): boolean {
  return smtpUrl.startsWith("outbox:");
}

/** The transport that SMTP_URL names. */
export function openMailTransport(config: Config): MailTransport {
  if (isOutbox(config)) {
    return createEmlFileTransport(
      { directory: mailDestination(config), sessionsMax: config.smtpConnectionsMax },
      systemClock,
    );
  }
  const bounds = {
    connectionsMax: config.smtpConnectionsMax,
    messagesPerConnectionMax: config.smtpMessagesPerConnectionMax,
    messagesPerSecondMax: config.smtpMessagesPerSecondMax,
  };
  return createSmtpTransport({ ...smtpOptionsFromUrl(config.smtpUrl), ...bounds }, systemClock);
}

/** Where mail goes, for people: host and port of the relay, or the directory of the outbox. */
export function mailDestination({ smtpUrl, dataDir }: Pick<Config, "smtpUrl" | "dataDir">): string {
  if (isOutbox({ smtpUrl })) return smtpUrl.slice("outbox:".length) || join(dataDir, "outbox");
  const { host, port } = smtpOptionsFromUrl(smtpUrl);
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The mail that outbox transports of this instance have written, also those of settings before. */
export function openOutboxCleanup({ dataDir, smtpUrl }: Config): OutboxCleanup {
  const named = isOutbox({ smtpUrl }) ? smtpUrl.slice("outbox:".length) : "";
  return outboxCleanup([join(dataDir, "outbox"), ...(named === "" ? [] : [named])]);
}
