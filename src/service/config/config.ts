import { readFileSync } from "node:fs";
import { isIP, isIPv4, isIPv6 } from "node:net";
import { resolve } from "node:path";
import { smtpOptionsFromUrl } from "../../adapters/nodemailer/smtpOptions.ts";
import { DELIVERY_POLICY, type DeliveryPolicy } from "../../domain/email/retrySchedule.ts";
import { WEBHOOK_POLICY, type WebhookPolicy } from "../../domain/webhookDelivery/retrySchedule.ts";
import { LIMIT_RANGES, type WorkspaceLimits } from "../../domain/workspace/limits.ts";
import { BODY_BYTES_IN_FLIGHT_MIN } from "../../http/body/bodyLimits.ts";
import { parseSigningKey } from "../../kernel/crypto/signingKey.ts";
import { type AddressRange, parseAddressRange } from "../../kernel/network/clientIp.ts";
import { parseAddress } from "../../kernel/text/emailAddress.ts";
import { wholeNumber } from "../../kernel/text/wholeNumber.ts";

/** Everything that can be set, checked. Times in ms, sizes in bytes. */
export interface Config {
  readonly host: string;
  readonly port: number;
  /** Where callers reach the service; its path prefixes routes and links. */
  readonly baseUrl: URL;
  readonly dataDir: string;
  /**
   * `file:<directory>` or `s3://<bucket>[/<prefix>]`: where content is kept that is too large for an event.
   * Instances of one log share it, and no two logs do.
   */
  readonly contentUrl: string;
  /** Where and as whom `s3://` is reached; null with a directory. */
  readonly s3: S3Settings | null;
  readonly contentTimeoutMs: number;
  /** How often each instance looks for content that no message and no upload names. */
  readonly contentSweepIntervalMs: number;
  /** How often verified domains are looked at again; 0: never. */
  readonly domainRecheckIntervalMs: number;
  /** Where clamd listens, `tcp://host:port` or `unix:/path`; null: files are not looked at for malware. */
  readonly clamavUrl: string | null;
  readonly storeUrl: string;
  readonly storeTimeoutMs: number;
  /** Pages of the embedded log that the service keeps in memory, in KiB. */
  readonly logCacheKib: number;
  /** 32 bytes; null: the embedded store makes its own. */
  readonly masterKey: Uint8Array | null;
  readonly masterKeyPrevious: Uint8Array | null;
  /** `outbox:` or an SMTP URL. */
  readonly smtpUrl: string;
  readonly smtpConnectionsMax: number;
  readonly smtpMessagesPerConnectionMax: number;
  /** 0: no limit. */
  readonly smtpMessagesPerSecondMax: number;
  /** Whether a log that was never used gets a workspace, a sender and a key to begin with. */
  /** Where mail with verification links comes from; null: addresses cannot be verified by mail. */
  readonly verificationFrom: string | null;
  /** Name servers that are asked for domains' records, `address` or `address:port`; none: the machine's own. */
  readonly dnsServers: readonly string[];
  readonly bootstrap: boolean;
  readonly deliveryEnabled: boolean;
  readonly deliveryPolicy: DeliveryPolicy;
  /** Whether the log keeps at which domains mail bounced. */
  readonly bounceDomains: boolean;
  readonly diskFreeBytesMin: number;
  readonly limitsDefault: WorkspaceLimits;
  readonly webhooks: WebhookSettings;
  /** Bytes of request bodies that are read or worked on at once. */
  readonly bodyBytesInFlightMax: number;
  /** Failed authentications that one client address may have in a minute; 0: no limit. */
  readonly authFailuresPerMinute: number;
  /** Proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly AddressRange[];
  /** How long after one comparison of the read models with the log the next one begins; 0: never. */
  readonly verifyIntervalMs: number;
  /** An event is sealed so long after it was written, at the latest; 0: nothing is sealed by itself. */
  readonly auditSealIntervalMs: number;
  /** The Ed25519 private key that signs seals, as PEM; null: they are not signed. */
  readonly auditSigningKey: string | null;
  readonly requestTimeoutMs: number;
  readonly drainTimeoutMs: number;
  readonly logLevel: string;
  /** `auto`: for people on a terminal, JSON elsewhere. */
  readonly logFormat: "auto" | "pretty" | "json";
  readonly logRequests: "failed" | "all";
}

export interface WebhookSettings {
  /** `host:port` pairs that may be private: for development only. */
  readonly allowedPrivateHosts: ReadonlySet<string>;
  /** PEM of further certificate authorities; null: the system's alone. */
  readonly certificateAuthorities: string | null;
  /** The whole of one call, look-up and answer included. */
  readonly callTimeoutMs: number;
  readonly policy: WebhookPolicy;
}

export interface S3Settings {
  /** Without the bucket, which is the first part of every path. */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  /** Empty, or ends with `/`. */
  readonly prefix: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** Settings that cannot be worked with: each error names its variable and what it takes. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  constructor(readonly errors: readonly string[]) {
    super(errors.join("\n"));
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
const MASTER_KEY_BYTES = 32;
const MIB = 1_024 * 1_024;
const PORTS = { min: 1, max: 65_535 } as const;
const SCHEDULE_WAIT_MS_MAX = 999_999_999;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Reads one variable after another and collects what is wrong with all of them. */
class Reader {
  readonly errors: string[] = [];

  constructor(private readonly env: Environment) {}

  text(name: string, fallback: string): string {
    const value = this.env[name];
    return value === undefined || value === "" ? fallback : value;
  }

  integer(name: string, fallback: number, range: { readonly min: number; readonly max: number }): number {
    const text = this.text(name, String(fallback));
    const value = wholeNumber(text, range);
    if (value !== null) return value;
    this.errors.push(`${name} must be a whole number from ${range.min} to ${range.max}`);
    return fallback;
  }

  choice<const Choice extends string>(name: string, fallback: Choice, choices: readonly Choice[]): Choice {
    const text = this.text(name, fallback);
    const found = choices.find((choice) => choice === text);
    if (found === undefined) this.errors.push(`${name} must be one of ${choices.join(", ")}`);
    return found ?? fallback;
  }

  /** A secret, from the variable itself or from the file that `<name>_FILE` names; null when neither is set. */
  secret(name: string): string | null {
    const value = this.text(name, "");
    const file = this.text(`${name}_FILE`, "");
    if (value !== "" && file !== "") this.errors.push(`${name} and ${name}_FILE must not both be set`);
    return value === "" ? this.file(`${name}_FILE`) : value;
  }

  /** What is in the file that the variable names; null when it is not set. */
  file(name: string): string | null {
    const path = this.text(name, "");
    if (path === "") return null;
    try {
      return readFileSync(path, "utf8").trim();
    } catch (error) {
      // Not the name: some put the secret itself here.
      const { code } = error as NodeJS.ErrnoException;
      this.errors.push(`${name} names a file that cannot be read (${code})`);
      return null;
    }
  }

  /** Values between commas; none when it is not set. */
  list(name: string): readonly string[] {
    return this.text(name, "")
      .split(",")
      .map((value) => value.trim())
      .filter((value) => value !== "");
  }

  key(name: string): Uint8Array | null {
    const text = this.secret(name);
    if (text === null) return null;
    const key = parseMasterKey(text);
    if (key === null)
      this.errors.push(`${name} must be ${MASTER_KEY_BYTES} bytes in base64 (openssl rand -base64 32)`);
    return key;
  }

  /** A name or an address as it is listened on: alone, IPv6 without brackets. */
  host(name: string, fallback: string): string {
    const text = this.text(name, fallback);
    const isAlone = isIP(text) !== 0 || /^[\w.-]+$/.test(text);
    if (isAlone && URL.canParse(`http://${hostInUrl(text)}`)) return text;
    this.errors.push(`${name} must be an address or a name alone: 127.0.0.1, ::1, 0.0.0.0 (all addresses)`);
    return fallback;
  }

  url(name: string, fallback: string): URL {
    const text = this.text(name, fallback);
    if (URL.canParse(text) && /^https?:/.test(text)) return new URL(text);
    this.errors.push(`${name} must be an http or https URL`);
    return new URL(fallback);
  }
}

/** A master key as text holds it; null when it is not 32 bytes in base64. */
export function parseMasterKey(text: string): Uint8Array | null {
  try {
    const bytes = Uint8Array.fromBase64(text.trim());
    return bytes.length === MASTER_KEY_BYTES ? bytes : null;
  } catch {
    return null;
  }
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}

function hostInUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** Whether a URL leads to this machine and no other. */
export function isLoopbackUrl({ hostname }: URL): boolean {
  return isLoopback(hostname.replace(/[[\]]/g, ""));
}

function smtpUrl(reader: Reader, host: string): string {
  const url = reader.secret("SMTP_URL");
  if (url === null && !isLoopback(host)) {
    reader.errors.push(
      "SMTP_URL must be set when HOST is not loopback: smtp://user:password@relay.example:587",
    );
  }
  const value = url ?? "outbox:";
  if (!value.startsWith("outbox:")) requireRelayUrl(reader, value);
  return value;
}

function requireRelayUrl(reader: Reader, url: string): void {
  if (!/^smtps?:\/\//.test(url)) {
    reader.errors.push("SMTP_URL must begin with smtp://, smtps:// or outbox:");
    return;
  }
  try {
    smtpOptionsFromUrl(url);
  } catch (error) {
    reader.errors.push(
      `SMTP_URL must be a URL like smtp://user:password@relay.example:587: ${(error as Error).message}`,
    );
  }
}

function deliveryPolicy(reader: Reader): DeliveryPolicy {
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

/**
 * `host:port` with a name: certificates are checked for names, and an address would pass without a look-up. This
 * machine's own is the exception, for receivers under development without a certificate.
 */
function isNamedPair(text: string): boolean {
  const [, host = "", port = ""] = /^([a-z0-9_][a-z0-9._-]*):([1-9]\d{0,4})$/.exec(text) ?? [];
  // The parser tells every notation of an address, 0x7f.1 among them.
  const isName = URL.canParse(`https://${host}`) && !isIPv4(new URL(`https://${host}`).hostname);
  return host !== "" && (isName || host === "127.0.0.1") && wholeNumber(port, PORTS) !== null;
}

function webhookSettings(reader: Reader): WebhookSettings {
  const hosts = reader.list("WEBHOOK_ALLOW_PRIVATE_HOSTS");
  if (!hosts.every(isNamedPair)) {
    reader.errors.push(
      "WEBHOOK_ALLOW_PRIVATE_HOSTS must be host:port pairs between commas: names in lower case, or 127.0.0.1",
    );
  }
  const callTimeoutMs = reader.integer("WEBHOOK_CALL_TIMEOUT_MS", 15_000, { min: 100, max: 60_000 });
  return {
    allowedPrivateHosts: new Set(hosts),
    certificateAuthorities: reader.file("WEBHOOK_CA_FILE"),
    callTimeoutMs,
    policy: {
      ...WEBHOOK_POLICY,
      // Twice what a call may take: the rest is for the record of its outcome.
      leaseMs: 2 * callTimeoutMs,
      scheduleMs: webhookSchedule(reader),
    },
  };
}

function webhookSchedule(reader: Reader): readonly number[] {
  const texts = reader.list("WEBHOOK_SCHEDULE_MS");
  if (texts.length === 0) return WEBHOOK_POLICY.scheduleMs;
  const waits = texts.map((text) => wholeNumber(text, { max: SCHEDULE_WAIT_MS_MAX }));
  const known = waits.filter((wait) => wait !== null);
  if (texts.length > 100 || known.length < texts.length)
    reader.errors.push("WEBHOOK_SCHEDULE_MS must be 1 to 100 waits in milliseconds between commas");
  return known;
}

function limitsDefault(reader: Reader): WorkspaceLimits {
  const limit = (variable: string, name: keyof typeof LIMIT_RANGES, fallback: number) =>
    reader.integer(variable, fallback, LIMIT_RANGES[name]);
  return {
    messagesPerDay: limit("LIMIT_MESSAGES_PER_DAY", "messagesPerDay", 1_000_000),
    storageBytes: limit("LIMIT_STORAGE_BYTES", "storageBytes", 1_000_000_000),
    contentBytes: limit("LIMIT_CONTENT_BYTES", "contentBytes", 50_000_000_000),
    keyRequestsPerSecond: limit("LIMIT_KEY_REQUESTS_PER_SECOND", "keyRequestsPerSecond", 2_000),
    workspaceRequestsPerSecond: limit(
      "LIMIT_WORKSPACE_REQUESTS_PER_SECOND",
      "workspaceRequestsPerSecond",
      4_000,
    ),
    attachmentRetentionHours: limit("ATTACHMENT_RETENTION_HOURS", "attachmentRetentionHours", 24),
    contentRetentionDays: limit("CONTENT_RETENTION_DAYS", "contentRetentionDays", 30),
    archiveAttachments: false,
  };
}

function verificationFrom(reader: Reader): string | null {
  const text = reader.text("VERIFICATION_FROM", "");
  if (text === "") return null;
  const address = parseAddress(text);
  if ("sent" in address) return address.sent;
  reader.errors.push("VERIFICATION_FROM must be one bare address such as postmaster@example.com");
  return null;
}

function dnsServers(reader: Reader): readonly string[] {
  const servers = reader
    .text("DNS_SERVERS", "")
    .split(",")
    .map((server) => server.trim())
    .filter((server) => server !== "");
  const isServer = (server: string) => {
    const [, bracketed, plain, port = "53"] = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(server) ?? [];
    const isHost = isIPv6(server) || isIPv6(bracketed ?? "") || isIPv4(plain ?? "");
    return isHost && wholeNumber(port, PORTS) !== null;
  };
  if (!servers.every(isServer)) {
    reader.errors.push(
      "DNS_SERVERS must be IP addresses with commas between them: 192.0.2.53,[2001:db8::53]:53",
    );
  }
  return servers;
}

function trustedProxies(reader: Reader): readonly AddressRange[] {
  const texts = reader.text("TRUSTED_PROXIES", "").split(",");
  const ranges = texts.filter((text) => text.trim() !== "").map((text) => parseAddressRange(text.trim()));
  if (ranges.includes(null)) {
    reader.errors.push(
      "TRUSTED_PROXIES must be addresses or CIDR ranges between commas: 10.0.0.0/8,fd00::/8",
    );
  }
  return ranges.filter((range) => range !== null);
}

/**
 * What a connection string of EventStoreDB can set. The client passes over all else, tlsVerifyCert too, with a warning
 * that shows the whole string, password and all.
 */
const STORE_PARAMETERS: ReadonlySet<string> = new Set(
  [
    ...["tls", "tlsCAFile", "userCertFile", "userKeyFile", "nodePreference", "connectionName"],
    ...["keepAliveInterval", "keepAliveTimeout", "maxDiscoverAttempts", "discoveryInterval", "gossipTimeout"],
    ...["dnsDiscover", "defaultDeadline", "throwOnAppendFailure"],
  ].map((name) => name.toLowerCase()),
);

function namesNoDirectory(variable: string): string {
  return `${variable} must name a directory after file:, such as file:/var/lib/postledger`;
}

function storeUrl(reader: Reader, dataDir: string): string {
  const url = reader.secret("STORE_URL") ?? `file:${dataDir}`;
  if (!/^(file:|esdb(\+discover)?:\/\/)/.test(url))
    reader.errors.push("STORE_URL must begin with file: or esdb://");
  if (url === "file:") reader.errors.push(namesNoDirectory("STORE_URL"));
  const parameters = url.startsWith("esdb") ? new URLSearchParams(url.replace(/^[^?]*/, "")).keys() : [];
  const unknown = [...parameters].find((name) => !STORE_PARAMETERS.has(name.toLowerCase()));
  if (unknown !== undefined) {
    reader.errors.push(
      `STORE_URL must not have the parameter ${JSON.stringify(unknown)}: those it can have are tls, tlsCAFile, userCertFile, userKeyFile, nodePreference, keepAliveInterval, keepAliveTimeout and the like`,
    );
  }
  return url;
}

function contentUrl(reader: Reader, dataDir: string): string {
  const url = reader.text("CONTENT_URL", `file:${dataDir}/content`);
  if (!/^(file:|s3:)/.test(url)) reader.errors.push("CONTENT_URL must begin with file: or s3://");
  if (url === "file:") reader.errors.push(namesNoDirectory("CONTENT_URL"));
  return url;
}

/** Characters that need no escape in a path, so that a signature cannot depend on how they are escaped. */
const S3_URL = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*)\/?$/;

function s3Settings(reader: Reader, contentUrl: string): S3Settings | null {
  if (!contentUrl.startsWith("s3:")) return null;
  const [, bucket = "", path = ""] = S3_URL.exec(contentUrl) ?? [];
  if (bucket === "") {
    reader.errors.push("CONTENT_URL must be s3://<bucket> or s3://<bucket>/<prefix>, without credentials");
  }
  const region = reader.text("S3_REGION", "us-east-1");
  const endpoint = reader.url("S3_ENDPOINT", `https://s3.${region}.amazonaws.com`);
  if (endpoint.pathname !== "/" || endpoint.search !== "" || endpoint.username !== "") {
    reader.errors.push("S3_ENDPOINT must be a scheme, a host and a port alone");
  }
  // Bun's client would add one to our own credentials, and it would run out while we run.
  for (const name of ["AWS_SESSION_TOKEN", "S3_SESSION_TOKEN"]) {
    if (reader.text(name, "") !== "") reader.errors.push(`${name} must not be set with an s3:// CONTENT_URL`);
  }
  return {
    endpoint: endpoint.origin,
    region,
    bucket,
    prefix: path === "" ? "" : `${path.slice(1)}/`,
    accessKeyId: requiredSecret(reader, "S3_ACCESS_KEY_ID"),
    secretAccessKey: requiredSecret(reader, "S3_SECRET_ACCESS_KEY"),
  };
}

function requiredSecret(reader: Reader, name: string): string {
  const value = reader.secret(name);
  if (value === null) reader.errors.push(`${name} (or ${name}_FILE) must be set with an s3:// CONTENT_URL`);
  return value ?? "";
}

function auditSigningKey(reader: Reader): string | null {
  const pem = reader.secret("AUDIT_SIGNING_KEY");
  if (pem !== null && parseSigningKey(pem) === null) {
    reader.errors.push(
      "AUDIT_SIGNING_KEY must be an Ed25519 private key in PEM: see postledger audit keygen",
    );
  }
  return pem;
}

function clamavUrl(reader: Reader): string | null {
  const url = reader.text("CLAMAV_URL", "");
  if (url === "") return null;
  const isTcp = /^tcp:\/\/[^/@]+:\d+$/.test(url) && URL.canParse(url);
  if (!isTcp && !/^unix:\/./.test(url))
    reader.errors.push("CLAMAV_URL must be tcp://host:port or unix:/path, where clamd listens");
  return url;
}

/** Where an installation is whose DATA_DIR is not set. */
export const DATA_DIR_DEFAULT = "./data";

/** Reads and checks the environment. Throws {@link ConfigError} with everything that is wrong, by variable. */
export function readConfig(env: Environment): Config {
  const reader = new Reader(env);
  const host = reader.host("HOST", "127.0.0.1");
  const port = reader.integer("PORT", 3000, { min: 0, max: 65_535 });
  const dataDir = resolve(reader.text("DATA_DIR", DATA_DIR_DEFAULT));
  const content = contentUrl(reader, dataDir);
  const config: Config = {
    host,
    port,
    baseUrl: reader.url("BASE_URL", `http://${hostInUrl(host)}:${port}`),
    dataDir,
    storeUrl: storeUrl(reader, dataDir),
    contentUrl: content,
    s3: s3Settings(reader, content),
    contentTimeoutMs: reader.integer("CONTENT_TIMEOUT_MS", 10_000, { min: 100, max: MINUTE_MS }),
    domainRecheckIntervalMs: reader.integer("DOMAIN_RECHECK_INTERVAL_MS", DAY_MS, {
      min: 0,
      max: 24 * DAY_MS,
    }),
    contentSweepIntervalMs: reader.integer("CONTENT_SWEEP_INTERVAL_MS", 10 * MINUTE_MS, {
      min: 10,
      max: DAY_MS,
    }),
    clamavUrl: clamavUrl(reader),
    storeTimeoutMs: reader.integer("STORE_TIMEOUT_MS", 5_000, { min: 100, max: MINUTE_MS }),
    logCacheKib: reader.integer("LOG_CACHE_MIB", 32, { min: 1, max: 65_536 }) * 1_024,
    masterKey: reader.key("MASTER_KEY"),
    masterKeyPrevious: reader.key("MASTER_KEY_PREVIOUS"),
    smtpUrl: smtpUrl(reader, host),
    smtpConnectionsMax: reader.integer("SMTP_CONNECTIONS_MAX", 8, { min: 1, max: 1_000 }),
    smtpMessagesPerConnectionMax: reader.integer("SMTP_MESSAGES_PER_CONNECTION_MAX", 100, {
      min: 1,
      max: 1_000_000,
    }),
    smtpMessagesPerSecondMax: reader.integer("SMTP_MESSAGES_PER_SECOND_MAX", 0, { min: 0, max: 100_000 }),
    verificationFrom: verificationFrom(reader),
    dnsServers: dnsServers(reader),
    bootstrap: reader.choice("BOOTSTRAP", isLoopback(host) ? "on" : "off", ["on", "off"]) === "on",
    deliveryEnabled: reader.choice("DELIVERY", "on", ["on", "off"]) === "on",
    deliveryPolicy: deliveryPolicy(reader),
    bounceDomains: reader.choice("BOUNCE_DOMAINS", "on", ["on", "off"]) === "on",
    diskFreeBytesMin: reader.integer("DISK_FREE_BYTES_MIN", 256 * MIB, { min: 0, max: 2 ** 50 }),
    limitsDefault: limitsDefault(reader),
    webhooks: webhookSettings(reader),
    bodyBytesInFlightMax: reader.integer("BODY_BYTES_IN_FLIGHT_MAX", 64 * MIB, {
      min: BODY_BYTES_IN_FLIGHT_MIN,
      max: 2 ** 40,
    }),
    authFailuresPerMinute: reader.integer("AUTH_FAILURES_PER_MINUTE", 60, { min: 0, max: 1_000_000 }),
    trustedProxies: trustedProxies(reader),
    verifyIntervalMs:
      HOUR_MS * reader.integer("PROJECTION_VERIFY_INTERVAL_HOURS", 0, { min: 0, max: 365 * 24 }),
    auditSealIntervalMs: reader.integer("AUDIT_SEAL_INTERVAL_MS", 10 * MINUTE_MS, { min: 0, max: DAY_MS }),
    auditSigningKey: auditSigningKey(reader),
    requestTimeoutMs: reader.integer("REQUEST_TIMEOUT_MS", 15_000, { min: 100, max: 10 * MINUTE_MS }),
    drainTimeoutMs: reader.integer("DRAIN_TIMEOUT_MS", 25_000, { min: 0, max: 10 * MINUTE_MS }),
    logLevel: reader.choice("LOG_LEVEL", "info", LOG_LEVELS),
    logFormat: reader.choice("LOG_FORMAT", "auto", ["auto", "pretty", "json"]),
    logRequests: reader.choice("LOG_REQUESTS", "failed", ["failed", "all"]),
  };
  const errors = [...reader.errors, ...contradictions(config)];
  if (errors.length > 0) throw new ConfigError(errors);
  return config;
}

/** Settings that do not go with one another. */
function contradictions({ storeUrl, masterKey, webhooks, baseUrl }: Config): readonly string[] {
  const found: string[] = [];
  if (storeUrl.startsWith("esdb") && masterKey === null) {
    found.push(
      "MASTER_KEY (or MASTER_KEY_FILE) must be set with an esdb:// STORE_URL: all instances share it",
    );
  }
  if (webhooks.allowedPrivateHosts.size > 0 && !isLoopbackUrl(baseUrl)) {
    found.push("WEBHOOK_ALLOW_PRIVATE_HOSTS is for development: BASE_URL must be loopback with it");
  }
  return found;
}
