import type { RateSettings } from "../../domain/workspace/sendingRates.ts";
import type { WorkspaceLimits } from "../../domain/workspace/workspaceLimits.ts";
import type { LoginProxy } from "../../http/dashboard/login/loginProxy.ts";
import { parseSigningKey } from "../../kernel/crypto/auditSigningKey.ts";
import { isLoopback, isLoopbackUrl } from "../../kernel/network/isLoopback.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../kernel/time.ts";
import { ConfigError } from "./configError.ts";
import { type ContentStoreConfig, readContentStoreConfig } from "./contentStoreConfig.ts";
import { type Environment, EnvironmentReader } from "./environmentReader.ts";
import { readLoginProxyConfig } from "./loginProxyConfig.ts";
import { type DkimConfig, readDkimConfig } from "./mail/dkimConfig.ts";
import { type InboundConfig, readInboundConfig } from "./mail/inboundConfig.ts";
import { type RelayConfig, readRelayConfig } from "./mail/relayConfig.ts";
import { readSenderConfig, type SenderConfig } from "./mail/senderConfig.ts";
import { readSubmissionConfig, type SubmissionConfig } from "./mail/submissionConfig.ts";
import { type MasterKeyConfig, readMasterKeyConfig } from "./masterKeyConfig.ts";
import { type MetricsConfig, readMetricsConfig } from "./metricsConfig.ts";
import { readSendingRatesConfig } from "./sendingRatesConfig.ts";
import { readServerConfig, type ServerConfig } from "./serverConfig.ts";
import { readStoreConfig, type StoreConfig } from "./storeConfig.ts";
import { readWebhookConfig, type WebhookConfig } from "./webhookConfig.ts";
import { readWorkspaceLimitsDefault } from "./workspaceLimitsDefault.ts";

/** All settings, checked. Times in ms, sizes in bytes. */
export interface Config
  extends ServerConfig,
    StoreConfig,
    MasterKeyConfig,
    ContentStoreConfig,
    RelayConfig,
    DkimConfig,
    SenderConfig,
    IntegrityConfig,
    LoggingConfig,
    InboundConfig {
  /** Whether it is a trial on this machine. Only then may a default harm whoever else would use the service. */
  readonly isTrial: boolean;
  /** Whether a new log gets a workspace, a sender and a key to begin with. */
  readonly bootstrap: boolean;
  /** Null: people log in with keys and links only. */
  readonly loginProxy: LoginProxy | null;
  /** Null: no mail is taken over SMTP. */
  readonly submission: SubmissionConfig | null;
  /** Null: metrics are off. */
  readonly metrics: MetricsConfig | null;
  readonly webhooks: WebhookConfig;
  /** What a workspace may use unless it has limits of its own. */
  readonly limitsDefault: WorkspaceLimits;
  /** Which bounce and complaint rates are too high. */
  readonly sendingRates: RateSettings;
  /** Variables that look misspelt, a sentence each; the service works without them. */
  readonly misspelt: readonly string[];
}

/**
 * Reads and checks the environment. `needsRelay`: mail is to be delivered, so SMTP_URL must say where to. Throws
 * {@link ConfigError} with everything that is wrong, by variable.
 */
export function readConfig(env: Environment, { needsRelay } = { needsRelay: true }): Config {
  const reader = new EnvironmentReader(env);
  const server = readServerConfig(reader);
  const store = readStoreConfig(reader);
  const inbound = readInboundConfig(reader, server.host);
  const submission = readSubmissionConfig(reader, server.host);
  const openSetting = settingOpenToOthers({ ...server, ...inbound, submission });
  const isTrial = openSetting === undefined;
  const config: Config = {
    ...server,
    ...store,
    ...readMasterKeyConfig(reader),
    ...readContentStoreConfig(reader, store.dataDir),
    ...readRelayConfig(reader),
    ...readDkimConfig(reader),
    ...readSenderConfig(reader),
    ...readIntegrityConfig(reader),
    ...readLoggingConfig(reader),
    ...inbound,
    ...readLoginProxyConfig(reader),
    submission,
    isTrial,
    bootstrap: reader.flag("BOOTSTRAP", isTrial),
    metrics: readMetricsConfig(reader),
    webhooks: readWebhookConfig(reader),
    limitsDefault: readWorkspaceLimitsDefault(reader),
    ...readSendingRatesConfig(reader),
    misspelt: reader.misspelt(),
  };
  const errors = [...reader.errors, ...contradictions(config, reader.errors)];
  const isRelayWanted = needsRelay && isRelayMissing(config) && !isSaid(errors, "SMTP_URL");
  if (isRelayWanted && openSetting !== undefined) errors.push(relayMissing(openSetting));
  if (errors.length > 0) throw new ConfigError(errors);
  return config;
}

/** The setting by which the service takes requests or mail from elsewhere, or its links lead there. */
function settingOpenToOthers({
  host,
  baseUrl,
  submission,
  inbound,
}: Pick<Config, "host" | "baseUrl" | "submission" | "inbound">): string | undefined {
  const hosts = { HOST: host, SUBMISSION_HOST: submission?.host, INBOUND_HOST: inbound?.host };
  const open = Object.entries(hosts).find(([, at]) => at !== undefined && !isLoopback(at));
  if (open !== undefined) return open.join(" is ");
  return isLoopbackUrl(baseUrl) ? undefined : `BASE_URL is ${baseUrl.origin}`;
}

function relayMissing(openSetting: string): string {
  return `SMTP_URL is not set. It must be, unless only this machine reaches the service, and ${openSetting}. Set it to your relay, or to \`outbox:\` to write mail to files.`;
}

/** Whether a service cannot start, for want of a relay. */
export function isRelayMissing({
  isOutboxByDefault,
  isTrial,
}: Pick<Config, "isOutboxByDefault" | "isTrial">): boolean {
  return isOutboxByDefault && !isTrial;
}

const UNSPECIFIED = ["0.0.0.0", "::"];

/** Ports of ours that would keep each other from opening. */
function sharedPorts({ host, port, submission, inbound, metrics }: Config): readonly string[] {
  const listeners = [
    { variable: "PORT", at: { host, port } },
    { variable: "SUBMISSION_PORT", at: submission },
    { variable: "INBOUND_PORT", at: inbound },
    { variable: "METRICS_PORT", at: metrics },
  ].flatMap(({ variable, at }) => (at === null || at.port === 0 ? [] : [{ variable, ...at }]));
  return listeners.flatMap((one, index) => {
    const other = listeners.slice(0, index).find((earlier) => {
      const areBothThere =
        earlier.host === one.host || [earlier.host, one.host].some((name) => UNSPECIFIED.includes(name));
      return earlier.port === one.port && areBothThere;
    });
    if (other === undefined) return [];
    return [`${one.variable} ${one.port} is ${other.variable} too: set one of them to another port`];
  });
}

/** Whether an error is about this secret, or the file that holds it. */
function isSaid(errors: readonly string[], secret: string): boolean {
  return errors.some((error) => error.startsWith(`${secret} `) || error.startsWith(`${secret}_FILE `));
}

/** Settings that contradict each other, unless one of them is already reported. */
function contradictions(config: Config, said: readonly string[]): readonly string[] {
  const { storeUrl, masterKey, webhooks, baseUrl } = config;
  const found = [...sharedPorts(config)];
  if (storeUrl.startsWith("esdb") && masterKey === null && !isSaid(said, "MASTER_KEY")) {
    found.push(
      "MASTER_KEY (or MASTER_KEY_FILE) must be set with an esdb:// STORE_URL: all instances share it",
    );
  }
  if (webhooks.allowedPrivateHosts.size > 0 && !isLoopbackUrl(baseUrl)) {
    found.push("WEBHOOK_ALLOW_PRIVATE_HOSTS is for development: BASE_URL must be loopback with it");
  }
  return found;
}

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

/** What the service writes about itself, and how. */
type LoggingConfig = Readonly<ReturnType<typeof readLoggingConfig>>;

function readLoggingConfig(reader: EnvironmentReader) {
  return {
    logLevel: reader.choice("LOG_LEVEL", "info", LOG_LEVELS),
    /** `auto`: for people on a terminal, JSON elsewhere. */
    logFormat: reader.choice("LOG_FORMAT", "auto", ["auto", "pretty", "json"]),
    logRequests: reader.choice("LOG_REQUESTS", "failed", ["failed", "all"]),
  };
}

/** How log and read models are guarded against tampering: audit seals, and comparisons of the two. */
type IntegrityConfig = Readonly<ReturnType<typeof readIntegrityConfig>>;

function readIntegrityConfig(reader: EnvironmentReader) {
  return {
    /** From the end of one comparison of read models and log to the next; 0: never. */
    verifyIntervalMs:
      HOUR_MS * reader.integer("PROJECTION_VERIFY_INTERVAL_HOURS", 0, { min: 0, max: 365 * 24 }),
    /** The longest time from writing an event to sealing it; 0: nothing is sealed automatically. */
    auditSealIntervalMs: reader.integer("AUDIT_SEAL_INTERVAL_MS", 10 * MINUTE_MS, { min: 0, max: DAY_MS }),
    /** The Ed25519 private key that signs seals, as PEM; null: they are not signed. */
    auditSigningKey: auditSigningKey(reader),
  };
}

function auditSigningKey(reader: EnvironmentReader): string | null {
  const pem = reader.secret("AUDIT_SIGNING_KEY");
  if (pem !== null && parseSigningKey(pem) === null) {
    reader.errors.push(
      `${reader.sourceOf("AUDIT_SIGNING_KEY")} must be an Ed25519 private key in PEM: see ${POSTLEDGER} audit keygen`,
    );
  }
  return pem;
}
