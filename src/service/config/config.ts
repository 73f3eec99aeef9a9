import type { WorkspaceLimits } from "../../domain/workspace/limits.ts";
import { type MetricsConfig, readMetricsConfig } from "../metrics/metricsConfig.ts";
import { ConfigError } from "./configError.ts";
import { type ContentStoreConfig, readContentStoreConfig } from "./contentStoreConfig.ts";
import { type DkimConfig, readDkimConfig } from "./dkimConfig.ts";
import { type Environment, EnvironmentReader } from "./environmentReader.ts";
import { type InboundConfig, readInboundConfig } from "./inboundConfig.ts";
import { type IntegrityConfig, readIntegrityConfig } from "./integrityConfig.ts";
import { type LoggingConfig, readLoggingConfig } from "./loggingConfig.ts";
import { isLoopbackUrl } from "./loopback.ts";
import { type MasterKeyConfig, readMasterKeyConfig } from "./masterKeyConfig.ts";
import { type RelayConfig, readRelayConfig } from "./relayConfig.ts";
import { readSenderConfig, type SenderConfig } from "./senderConfig.ts";
import { readServerConfig, type ServerConfig } from "./serverConfig.ts";
import { readStoreConfig, type StoreConfig } from "./storeConfig.ts";
import { readSubmissionConfig, type SubmissionConfig } from "./submissionConfig.ts";
import { readWebhookConfig, type WebhookConfig } from "./webhookConfig.ts";
import { readWorkspaceLimitsDefault } from "./workspaceLimitsConfig.ts";

/** Everything that can be set, checked. Times in ms, sizes in bytes. */
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
  /** Null: nothing is taken over SMTP. */
  readonly submission: SubmissionConfig | null;
  /** Null: figures can be read nowhere. */
  readonly metrics: MetricsConfig | null;
  readonly webhooks: WebhookConfig;
  /** What a workspace may use unless it was set for itself. */
  readonly limitsDefault: WorkspaceLimits;
  /** Variables that look like slips of the pen, a sentence each: the service works without them. */
  readonly misspelt: readonly string[];
}

/** Reads and checks the environment. Throws {@link ConfigError} with everything that is wrong, by variable. */
export function readConfig(env: Environment): Config {
  const reader = new EnvironmentReader(env);
  const server = readServerConfig(reader);
  const store = readStoreConfig(reader);
  const config: Config = {
    ...server,
    ...store,
    ...readMasterKeyConfig(reader),
    ...readContentStoreConfig(reader, store.dataDir),
    ...readRelayConfig(reader, server.host),
    ...readDkimConfig(reader),
    ...readSenderConfig(reader),
    ...readIntegrityConfig(reader),
    ...readLoggingConfig(reader),
    ...readInboundConfig(reader, server.host),
    submission: readSubmissionConfig(reader, server.host),
    metrics: readMetricsConfig(reader),
    webhooks: readWebhookConfig(reader),
    limitsDefault: readWorkspaceLimitsDefault(reader),
    misspelt: reader.misspelt(),
  };
  const errors = [...reader.errors, ...contradictions(config, reader.errors)];
  if (errors.length > 0) throw new ConfigError(errors);
  return config;
}

/** Settings that do not go with one another, where nothing was said of them for themselves. */
function contradictions(
  { storeUrl, masterKey, webhooks, baseUrl }: Config,
  said: readonly string[],
): readonly string[] {
  const found: string[] = [];
  const isKeyWrong = said.some((error) => /^MASTER_KEY(_FILE)? /.test(error));
  if (storeUrl.startsWith("esdb") && masterKey === null && !isKeyWrong) {
    found.push(
      "MASTER_KEY (or MASTER_KEY_FILE) must be set with an esdb:// STORE_URL: all instances share it",
    );
  }
  if (webhooks.allowedPrivateHosts.size > 0 && !isLoopbackUrl(baseUrl)) {
    found.push("WEBHOOK_ALLOW_PRIVATE_HOSTS is for development: BASE_URL must be loopback with it");
  }
  return found;
}
