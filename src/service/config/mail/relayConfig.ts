import { parseSmtpUrl } from "../../../adapters/nodemailer/parseSmtpUrl.ts";
import { RELAY_LIMIT_RANGES } from "../../../adapters/nodemailer/relayLimitsAndTimeouts.ts";
import type { SmtpRelay } from "../../../adapters/nodemailer/smtpRelay.ts";
import { DELIVERY_POLICY, type DeliveryPolicy } from "../../../domain/email/delivery/deliveryPolicy.ts";
import { parseDomain } from "../../../kernel/text/emailAddress.ts";
import { DAY_MS, MINUTE_MS } from "../../../kernel/time.ts";
import type { EnvironmentReader } from "../environmentReader.ts";

const RELAYS_MAX = 10;
const OUTBOX = "outbox:";

/** Where mail goes, as SMTP_URL says. */
export type MailRoute =
  /** Into `.eml` files; by default in `outbox` in the data directory. */
  | { readonly kind: "outbox"; readonly directory: string | null }
  | { readonly kind: "smtp"; readonly relays: readonly SmtpRelay[] };

/** How mail leaves: the relay, and when to retry a delivery. */
export type RelayConfig = Readonly<ReturnType<typeof readRelayConfig>>;

export function readRelayConfig(reader: EnvironmentReader) {
  const url = reader.secret("SMTP_URL");
  const ehloName = reader.parsed("SMTP_EHLO_NAME", parseDomain, "a host name such as mail.shop.example");
  return {
    mailRoute: mailRoute(reader, url, ehloName),
    /** Whether mail goes into files because SMTP_URL is not set. */
    isOutboxByDefault: url === null,
    smtpConnectionsMax: reader.integer("SMTP_CONNECTIONS_MAX", 8, RELAY_LIMIT_RANGES.connectionsMax),
    smtpMessagesPerConnectionMax: reader.integer("SMTP_MESSAGES_PER_CONNECTION_MAX", 100, {
      min: 1,
      max: 1_000_000,
    }),
    /** 0: no limit. */
    smtpMessagesPerSecondMax: reader.integer(
      "SMTP_MESSAGES_PER_SECOND_MAX",
      0,
      RELAY_LIMIT_RANGES.messagesPerSecondMax,
    ),
    /** Whether mail and webhook calls leave this instance at all. */
    deliveryEnabled: reader.flag("DELIVERY", true),
    deliveryPolicy: deliveryPolicy(reader),
    /** Whether the log records the domains at which mail bounced. */
    bounceDomains: reader.flag("BOUNCE_DOMAINS", true),
  };
}

function mailRoute(reader: EnvironmentReader, url: string | null, ehloName: string | null): MailRoute {
  if (url === null) return { kind: "outbox", directory: null };
  return url.startsWith(OUTBOX)
    ? { kind: "outbox", directory: url.slice(OUTBOX.length) || null }
    : { kind: "smtp", relays: relaysOf(reader, url, ehloName) };
}

/** `ehloName` is for the relays whose URL names no other. */
function relaysOf(reader: EnvironmentReader, url: string, ehloName: string | null): readonly SmtpRelay[] {
  // A URL never contains white space.
  const urls = url.split(/\s+/).filter((one) => one !== "");
  if (urls.length === 0 || urls.length > RELAYS_MAX || !urls.every((one) => /^smtps?:\/\//.test(one))) {
    reader.errors.push(
      `SMTP_URL must begin with smtp://, smtps:// or outbox:, or be up to ${RELAYS_MAX} relays with spaces between them`,
    );
    return [];
  }
  try {
    const shared = ehloName === null ? {} : { ehloName };
    return urls.map((one) => ({ ...shared, ...parseSmtpUrl(one) }));
  } catch (error) {
    reader.errors.push(
      `SMTP_URL must be a URL like smtp://user:password@relay.example:587: ${(error as Error).message}`,
    );
    return [];
  }
}

function deliveryPolicy(reader: EnvironmentReader): DeliveryPolicy {
  const { leaseMs, retryBaseMs, retryMaxMs, relayRetryMs, lifetimeMs } = DELIVERY_POLICY;
  return {
    leaseMs: reader.integer("DELIVERY_LEASE_MS", leaseMs, { min: 500, max: 60 * MINUTE_MS }),
    retryBaseMs: reader.integer("DELIVERY_RETRY_BASE_MS", retryBaseMs, { min: 10, max: DAY_MS }),
    retryMaxMs: reader.integer("DELIVERY_RETRY_MAX_MS", retryMaxMs, { min: 10, max: DAY_MS }),
    relayRetryMs: reader.integer("DELIVERY_RELAY_RETRY_MS", relayRetryMs, { min: 10, max: DAY_MS }),
    lifetimeMs: reader.integer("DELIVERY_LIFETIME_MS", lifetimeMs, { min: 1_000, max: lifetimeMs }),
    onAmbiguous: reader.choice("DELIVERY_ON_AMBIGUOUS", "retry", ["retry", "hold"]),
  };
}
