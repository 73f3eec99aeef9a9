import { join } from "node:path";
import { dkimSigner } from "../../adapters/mailauth/dkimSigner.ts";
import { createEmlFileTransport } from "../../adapters/nodemailer/emlFileTransport.ts";
import { outboxErasure } from "../../adapters/nodemailer/outboxErasure.ts";
import {
  type FailoverRelay,
  type RelayChange,
  relayFailover,
} from "../../adapters/nodemailer/relayFailover.ts";
import { relayName, smtpRelaysFromUrls } from "../../adapters/nodemailer/smtpOptions.ts";
import { createSmtpTransport } from "../../adapters/nodemailer/smtpTransport.ts";
import { systemClock } from "../../adapters/system/systemClock.ts";
import type { MailTransport } from "../../ports/mail/mailTransport.ts";
import type { OutboxErasure } from "../../ports/mail/outboxErasure.ts";
import type { Config } from "../config/config.ts";

/** Whether mail goes to files and not to a relay. */
export function isOutbox({ smtpUrl }: Pick<Config, "smtpUrl">): boolean {
  return smtpUrl.startsWith("outbox:");
}

/**
 * The transport that SMTP_URL names: of several relays one that hands mail over from each to the next, and reports which
 * of them takes none.
 */
export function openMailTransport(
  config: Config,
  onChange: (change: RelayChange) => void = () => {},
): MailTransport {
  if (isOutbox(config)) {
    return createEmlFileTransport(
      { directory: mailDestination(config), sessionsMax: config.smtpConnectionsMax },
      systemClock,
    );
  }
  const relays = openRelays(config);
  const [only, ...others] = relays;
  return only !== undefined && others.length === 0
    ? only.transport
    : relayFailover(relays, { clock: systemClock, random: Math.random, onChange });
}

/** Each of the relays that SMTP_URL names, by itself. */
export function openRelays(config: Config): readonly FailoverRelay[] {
  const shared = {
    connectionsMax: config.smtpConnectionsMax,
    messagesPerConnectionMax: config.smtpMessagesPerConnectionMax,
    messagesPerSecondMax: config.smtpMessagesPerSecondMax,
    signer: config.dkimKeys.length === 0 ? null : dkimSigner(config.dkimKeys),
  };
  return smtpRelaysFromUrls(config.smtpUrl).map((relay) => ({
    name: relayName(relay),
    order: relay.order ?? 1,
    weight: relay.weight ?? 1,
    transport: createSmtpTransport({ ...relay, ...shared }, systemClock),
  }));
}

/** Where mail goes, for people: host and port of each relay, or the directory of the outbox. */
export function mailDestination({ smtpUrl, dataDir }: Pick<Config, "smtpUrl" | "dataDir">): string {
  if (isOutbox({ smtpUrl })) return smtpUrl.slice("outbox:".length) || join(dataDir, "outbox");
  return smtpRelaysFromUrls(smtpUrl).map(relayName).join(", ");
}

/** The mail that outbox transports of this instance have written, also those of settings before. */
export function openOutboxErasure({ dataDir, smtpUrl }: Config): OutboxErasure {
  const named = isOutbox({ smtpUrl }) ? smtpUrl.slice("outbox:".length) : "";
  return outboxErasure([join(dataDir, "outbox"), ...(named === "" ? [] : [named])]);
}
