import { join } from "node:path";
import { dkimSigner } from "../../adapters/mailauth/dkimSigner.ts";
import { createEmlFileTransport } from "../../adapters/nodemailer/emlFileTransport.ts";
import {
  type FailoverRelay,
  GuardedRelay,
  type RelayChange,
  relayFailover,
} from "../../adapters/nodemailer/relayFailover.ts";
import { relayNames, type SmtpRelay } from "../../adapters/nodemailer/smtpRelay.ts";
import { createSmtpTransport } from "../../adapters/nodemailer/smtpTransport.ts";
import { systemClock } from "../../adapters/system/systemClock.ts";
import { type RelayGroups, type RelayScope, relayGroups } from "../../domain/email/delivery/relayGroups.ts";
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

/** The transport over the relays of one group. */
export interface GroupTransport {
  readonly transport: MailTransport;
  /** Host and port of each relay, or the directory of the outbox, for people. */
  readonly relays: readonly string[];
}

export interface MailTransports extends Omit<RelayGroups<unknown>, "groups"> {
  /** By the number of the group. */
  readonly groups: readonly GroupTransport[];
}

/**
 * A transport for each group of the relays that SMTP_URL names. With several relays it fails over from one to the next
 * of its group, and reports which of them takes no mail.
 */
export function openMailTransports(
  config: Config,
  onChange: (change: RelayChange) => void = () => {},
): MailTransports {
  if (config.mailRoute.kind === "outbox") {
    const outbox = { transport: openOutbox(config, config.mailRoute), relays: [mailDestination(config)] };
    return { ...relayGroups([{}]), groups: [outbox] };
  }
  const relays = openRelays(config);
  const clock = systemClock;
  const guards = new Map(relays.map((relay) => [relay, new GuardedRelay(relay, { clock, onChange })]));
  const transportOver = (group: readonly FailoverRelay[]) => {
    const [only, ...others] = relays;
    if (only !== undefined && others.length === 0) return only.transport;
    const guarded = group.flatMap((relay) => guards.get(relay) ?? []);
    return relayFailover(guarded, { clock, random: Math.random });
  };
  const divided = relayGroups(relays);
  const groups = divided.groups.map((group) => ({
    transport: transportOver(group),
    relays: group.map(({ name }) => name),
  }));
  return { ...divided, groups };
}

/** The outbox that SMTP_URL names. */
export function openOutbox(config: Config, outbox: Outbox): MailTransport {
  const directory = outboxDirectory(config, outbox);
  return createEmlFileTransport({ directory, sessionsMax: config.smtpConnectionsMax }, systemClock);
}

/** One transport for each relay in SMTP_URL. The limits in its URL count for it in place of those for all relays. */
export function openRelays(config: Config): readonly (FailoverRelay & RelayScope)[] {
  const shared = {
    connectionsMax: config.smtpConnectionsMax,
    messagesPerConnectionMax: config.smtpMessagesPerConnectionMax,
    messagesPerSecondMax: config.smtpMessagesPerSecondMax,
    signer: config.dkimKeys.length === 0 ? null : dkimSigner(config.dkimKeys),
  };
  const relays = relaysOf(config);
  const names = relayNames(relays);
  return relays.map((relay, index) => ({
    name: names[index] ?? "",
    order: relay.order ?? 1,
    weight: relay.weight ?? 1,
    transport: createSmtpTransport({ ...shared, ...relay }, systemClock),
    senders: relay.senders,
    workspaces: relay.workspaces,
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
      return relayNames(mailRoute.relays).join(", ");
    default:
      return never(mailRoute);
  }
}
