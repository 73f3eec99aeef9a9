import { join } from "node:path";
import { dkimSigner } from "../../adapters/mailauth/dkimSigner.ts";
import { createEmlFileTransport } from "../../adapters/nodemailer/emlFileTransport.ts";
import {
  type FailoverRelay,
  type RelayChange,
  relayFailover,
} from "../../adapters/nodemailer/relayFailover.ts";
import { relayName, type SmtpRelay } from "../../adapters/nodemailer/smtpRelay.ts";
import { createSmtpTransport } from "../../adapters/nodemailer/smtpTransport.ts";
import { systemClock } from "../../adapters/system/systemClock.ts";
import { never } from "../../kernel/assert.ts";
import type { MailTransport } from "../../ports/mail/mailTransport.ts";
import type { Config } from "../config/config.ts";
import type { MailRoute } from "../config/mail/relayConfig.ts";

/** Whether mail goes to files instead of a relay. */
export function isOutbox({ mailRoute }: Pick<Config, "mailRoute">): boolean {
  return mailRoute.kind === "outbox";
}

/** The relays that mail goes to; none if it goes to files. */
export function relaysOf({ mailRoute }: Pick<Config, "mailRoute">): readonly SmtpRelay[] {
  return mailRoute.kind === "smtp" ? mailRoute.relays : [];
}

/**
 * The transport that SMTP_URL names. With several relays it fails over from one to the next, and reports which of
 * them takes no mail.
 */
export function openMailTransport(
  config: Config,
  onChange: (change: RelayChange) => void = () => {},
): MailTransport {
  const { mailRoute, smtpConnectionsMax: sessionsMax } = config;
  switch (mailRoute.kind) {
    case "outbox":
      return createEmlFileTransport(
        { directory: outboxDirectory(config, mailRoute), sessionsMax },
        systemClock,
      );
    case "smtp":
      return relayTransport(openRelays(config), onChange);
    default:
      return never(mailRoute);
  }
}

function relayTransport(
  relays: readonly FailoverRelay[],
  onChange: (change: RelayChange) => void,
): MailTransport {
  const [only, ...others] = relays;
  return only !== undefined && others.length === 0
    ? only.transport
    : relayFailover(relays, { clock: systemClock, random: Math.random, onChange });
}

/** One transport for each relay in SMTP_URL. The limits in its URL count for it in place of those for all relays. */
export function openRelays(config: Config): readonly FailoverRelay[] {
  const shared = {
    connectionsMax: config.smtpConnectionsMax,
    messagesPerConnectionMax: config.smtpMessagesPerConnectionMax,
    messagesPerSecondMax: config.smtpMessagesPerSecondMax,
    signer: config.dkimKeys.length === 0 ? null : dkimSigner(config.dkimKeys),
  };
  return relaysOf(config).map((relay) => ({
    name: relayName(relay),
    order: relay.order ?? 1,
    weight: relay.weight ?? 1,
    transport: createSmtpTransport({ ...shared, ...relay }, systemClock),
  }));
}

type Outbox = Extract<MailRoute, { kind: "outbox" }>;

export function outboxDirectory({ dataDir }: Pick<Config, "dataDir">, { directory }: Outbox): string {
  return directory ?? join(dataDir, "outbox");
}

/** Where mail goes, for people: host and port of each relay, or the directory of the outbox. */
export function mailDestination(config: Pick<Config, "mailRoute" | "dataDir">): string {
  const { mailRoute } = config;
  switch (mailRoute.kind) {
    case "outbox":
      return outboxDirectory(config, mailRoute);
    case "smtp":
      return mailRoute.relays.map(relayName).join(", ");
    default:
      return never(mailRoute);
  }
}
