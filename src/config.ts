import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { DELIVERY_POLICY, type DeliveryPolicy } from "./domain/email/decisions.ts";
import type { WorkspaceLimits } from "./domain/workspace/limits.ts";
import { BODY_BYTES_IN_FLIGHT_MIN } from "./http/bodiesInFlight.ts";
import { type AddressRange, parseAddressRange } from "./kernel/clientAddress.ts";

/** Everything that can be set, checked. Times in ms, sizes in bytes. */
export interface Config {
  readonly host: string;
  readonly port: number;
  /** Where callers reach the service; its path prefixes routes and links. */
  readonly baseUrl: URL;
  readonly dataDir: string;
  /** `file:<directory>`: where content is kept that is too large for an event. Instances of one log share it. */
  readonly contentUrl: string;
  readonly storeUrl: string;
  readonly storeTimeoutMs: number;
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
  readonly bootstrap: boolean;
  readonly deliveryEnabled: boolean;
  readonly deliveryPolicy: DeliveryPolicy;
  readonly diskFreeBytesMin: number;
  readonly limitsDefault: WorkspaceLimits;
  /** Bytes of request bodies that are read or worked on at once. */
  readonly bodyBytesInFlightMax: number;
  /** Failed authentications that one client address may have in a minute; 0: no limit. */
  readonly authFailuresPerMinute: number;
  /** Proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly AddressRange[];
  readonly requestTimeoutMs: number;
  readonly drainTimeoutMs: number;
  readonly logLevel: string;
  readonly logRequests: "failed" | "all";
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
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

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
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= range.min && value <= range.max) return value;
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
    if (value !== "" || file === "") return value === "" ? null : value;
    try {
      return readFileSync(file, "utf8").trim();
    } catch {
      this.errors.push(`${name}_FILE names a file that cannot be read`);
      return null;
    }
  }

  key(name: string): Uint8Array | null {
    const text = this.secret(name);
    if (text === null) return null;
    const key = parseMasterKey(text);
    if (key === null)
      this.errors.push(`${name} must be ${MASTER_KEY_BYTES} bytes in base64 (openssl rand -base64 32)`);
    return key;
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
  return host === "localhost" || host === "::1" || /^127\./.test(host);
}

function smtpUrl(reader: Reader, host: string): string {
  const url = reader.secret("SMTP_URL");
  if (url === null && !isLoopback(host)) {
    reader.errors.push(
      "SMTP_URL must be set when HOST is not loopback: smtp://user:password@relay.example:587",
    );
  }
  const value = url ?? "outbox:";
  if (!/^(outbox:|smtps?:\/\/)/.test(value))
    reader.errors.push("SMTP_URL must begin with smtp://, smtps:// or outbox:");
  return value;
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

function limitsDefault(reader: Reader): WorkspaceLimits {
  const perSecond = { min: 0, max: 1_000_000 };
  return {
    messagesPerDay: reader.integer("LIMIT_MESSAGES_PER_DAY", 1_000_000, { min: 0, max: 2 ** 50 }),
    storageBytes: reader.integer("LIMIT_STORAGE_BYTES", 1_000_000_000, { min: 0, max: 2 ** 50 }),
    keyRequestsPerSecond: reader.integer("LIMIT_KEY_REQUESTS_PER_SECOND", 2_000, perSecond),
    workspaceRequestsPerSecond: reader.integer("LIMIT_WORKSPACE_REQUESTS_PER_SECOND", 4_000, perSecond),
    attachmentRetentionHours: reader.integer("ATTACHMENT_RETENTION_HOURS", 24, { min: 1, max: 24 * 365 }),
    archiveAttachments: false,
  };
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

function storeUrl(reader: Reader, dataDir: string): string {
  const url = reader.secret("STORE_URL") ?? `file:${dataDir}`;
  if (!/^(file:|esdb(\+discover)?:\/\/)/.test(url))
    reader.errors.push("STORE_URL must begin with file: or esdb://");
  return url;
}

function contentUrl(reader: Reader, dataDir: string): string {
  const url = reader.text("CONTENT_URL", `file:${dataDir}/content`);
  if (!url.startsWith("file:")) reader.errors.push("CONTENT_URL must begin with file:");
  return url;
}

/** Reads and checks the environment. Throws {@link ConfigError} with everything that is wrong, by variable. */
export function readConfig(env: Environment): Config {
  const reader = new Reader(env);
  const host = reader.text("HOST", "127.0.0.1");
  const port = reader.integer("PORT", 3000, { min: 0, max: 65_535 });
  const dataDir = resolve(reader.text("DATA_DIR", "./data"));
  const config: Config = {
    host,
    port,
    baseUrl: reader.url("BASE_URL", `http://${host.includes(":") ? `[${host}]` : host}:${port}`),
    dataDir,
    storeUrl: storeUrl(reader, dataDir),
    contentUrl: contentUrl(reader, dataDir),
    storeTimeoutMs: reader.integer("STORE_TIMEOUT_MS", 5_000, { min: 100, max: MINUTE_MS }),
    masterKey: reader.key("MASTER_KEY"),
    masterKeyPrevious: reader.key("MASTER_KEY_PREVIOUS"),
    smtpUrl: smtpUrl(reader, host),
    smtpConnectionsMax: reader.integer("SMTP_CONNECTIONS_MAX", 8, { min: 1, max: 1_000 }),
    smtpMessagesPerConnectionMax: reader.integer("SMTP_MESSAGES_PER_CONNECTION_MAX", 100, {
      min: 1,
      max: 1_000_000,
    }),
    smtpMessagesPerSecondMax: reader.integer("SMTP_MESSAGES_PER_SECOND_MAX", 0, { min: 0, max: 100_000 }),
    bootstrap: reader.choice("BOOTSTRAP", isLoopback(host) ? "on" : "off", ["on", "off"]) === "on",
    deliveryEnabled: reader.choice("DELIVERY", "on", ["on", "off"]) === "on",
    deliveryPolicy: deliveryPolicy(reader),
    diskFreeBytesMin: reader.integer("DISK_FREE_BYTES_MIN", 256 * MIB, { min: 0, max: 2 ** 50 }),
    limitsDefault: limitsDefault(reader),
    bodyBytesInFlightMax: reader.integer("BODY_BYTES_IN_FLIGHT_MAX", 64 * MIB, {
      min: BODY_BYTES_IN_FLIGHT_MIN,
      max: 2 ** 40,
    }),
    authFailuresPerMinute: reader.integer("AUTH_FAILURES_PER_MINUTE", 60, { min: 0, max: 1_000_000 }),
    trustedProxies: trustedProxies(reader),
    requestTimeoutMs: reader.integer("REQUEST_TIMEOUT_MS", 15_000, { min: 100, max: 10 * MINUTE_MS }),
    drainTimeoutMs: reader.integer("DRAIN_TIMEOUT_MS", 25_000, { min: 0, max: 10 * MINUTE_MS }),
    logLevel: reader.choice("LOG_LEVEL", "info", LOG_LEVELS),
    logRequests: reader.choice("LOG_REQUESTS", "failed", ["failed", "all"]),
  };
  if (config.storeUrl.startsWith("esdb") && config.masterKey === null) {
    reader.errors.push(
      "MASTER_KEY (or MASTER_KEY_FILE) must be set with an esdb:// STORE_URL: all instances share it",
    );
  }
  if (reader.errors.length > 0) throw new ConfigError(reader.errors);
  return config;
}
