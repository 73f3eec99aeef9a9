import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { clamavScanner } from "./adapters/clamav/clamavScanner.ts";
import { directoryContentStore } from "./adapters/directory/directoryContentStore.ts";
import { readOrCreate } from "./adapters/directory/durableFile.ts";
import { fileInspector } from "./adapters/files/fileInspector.ts";
import { webhookTransport } from "./adapters/https/webhookTransport.ts";
import { createOutboxTransport } from "./adapters/nodemailer/outboxTransport.ts";
import { smtpOptionsFromUrl } from "./adapters/nodemailer/smtpOptions.ts";
import { createSmtpTransport } from "./adapters/nodemailer/smtpTransport.ts";
import { s3ContentStore } from "./adapters/s3/s3ContentStore.ts";
import { openSqliteEventStore } from "./adapters/sqlite/sqliteEventStore.ts";
import { systemClock } from "./adapters/system/systemClock.ts";
import { claimContent, requireUnclaimed } from "./commands/claimContent.ts";
import { type OpenInstance, openInstance } from "./commands/openInstance.ts";
import { type Config, ConfigError, parseMasterKey } from "./config.ts";
import { newRequestId } from "./kernel/ids.ts";
import type { Occasion } from "./kernel/metadata.ts";
import type { AttachmentInspector } from "./ports/attachmentInspector.ts";
import type { ContentStore } from "./ports/contentStore.ts";
import type { EventStore } from "./ports/eventStore.ts";
import type { MailTransport } from "./ports/mailTransport.ts";
import type { MalwareScanner } from "./ports/malwareScanner.ts";
import type { WebhookTransport } from "./ports/webhookTransport.ts";

/** Whether the log is a file of this machine, not a server's. */
export function isEmbedded({ storeUrl }: Pick<Config, "storeUrl">): boolean {
  return storeUrl.startsWith("file:");
}

/**
 * Opens the log that STORE_URL names. `cacheKib`: pages of the embedded log that are kept in memory, for whoever comes
 * back to them; without it, enough for going through the log.
 */
export async function openStore(
  config: Pick<Config, "storeUrl" | "storeTimeoutMs">,
  { cacheKib }: { readonly cacheKib?: number } = {},
): Promise<EventStore> {
  const { storeUrl, storeTimeoutMs: timeoutMs } = config;
  if (isEmbedded(config)) {
    const path = join(storeUrl.slice("file:".length), "events.db");
    return openSqliteEventStore({ path, timeoutMs, ...(cacheKib === undefined ? {} : { cacheKib }) });
  }
  // Loaded only when it is used: the client and its gRPC stack cost a start on the embedded store a third of a second.
  const { connectEventStoreDb } = await import("./adapters/eventstoredb/eventStoreDb.ts");
  return connectEventStoreDb({ url: storeUrl, timeoutMs });
}

/** The content store that CONTENT_URL names. */
export function openContentStore(config: Config): ContentStore {
  if (config.s3 !== null) return s3ContentStore({ ...config.s3, timeoutMs: config.contentTimeoutMs });
  return directoryContentStore(config.contentUrl.slice("file:".length));
}

/** What looks into files before they are sent. */
export function openInspector(config: Pick<Config, "clamavUrl">): AttachmentInspector {
  return fileInspector({ scanner: openScanner(config) });
}

/** The malware scanner that CLAMAV_URL names; null without one. */
export function openScanner({ clamavUrl }: Pick<Config, "clamavUrl">): MalwareScanner | null {
  return clamavUrl === null ? null : clamavScanner({ url: clamavUrl });
}

/** The transport that SMTP_URL names. */
export function openTransport(config: Config): MailTransport {
  if (config.smtpUrl.startsWith("outbox:")) {
    const directory = config.smtpUrl.slice("outbox:".length) || join(config.dataDir, "outbox");
    return createOutboxTransport({ directory, sessionsMax: config.smtpConnectionsMax }, systemClock);
  }
  const bounds = {
    connectionsMax: config.smtpConnectionsMax,
    messagesPerConnectionMax: config.smtpMessagesPerConnectionMax,
    messagesPerSecondMax: config.smtpMessagesPerSecondMax,
  };
  return createSmtpTransport({ ...smtpOptionsFromUrl(config.smtpUrl), ...bounds }, systemClock);
}

/** What calls webhook endpoints. */
export function openWebhookTransport({ dnsServers, webhooks }: Config): WebhookTransport {
  const { allowedPrivateHosts, certificateAuthorities, callTimeoutMs } = webhooks;
  return webhookTransport({ dnsServers, allowedPrivateHosts, certificateAuthorities, callTimeoutMs });
}

/** Something that the operator or the system does, not a caller. */
export function systemOccasion(actor: string): Occasion {
  return { at: systemClock.now(), correlationId: newRequestId(), actor };
}

/** Proves that the settings belong to the log, and gives its keys. Throws what `openInstance` throws. */
export async function openLogInstance(
  config: Config,
  store: EventStore,
  content: ContentStore,
): Promise<OpenInstance> {
  const masterKey = config.masterKey ?? (await ownMasterKey(config.dataDir));
  const contentStoreId = await content.identity();
  const claims = { masterKey, masterKeyPrevious: config.masterKeyPrevious, contentStoreId };
  await requireUnclaimed(store, content);
  const opened = await openInstance(store, claims, systemOccasion("system"));
  await claimContent(content, opened.logId);
  return opened;
}

/** The embedded store's own master key: made at the first start, in a file that only its owner can read. */
async function ownMasterKey(dataDir: string): Promise<Uint8Array> {
  const path = join(dataDir, "master.key");
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const text = await readOrCreate(path, () => crypto.getRandomValues(new Uint8Array(32)).toBase64());
  const key = parseMasterKey(text);
  if (key === null)
    throw new ConfigError([`${path} does not hold 32 bytes in base64: restore it from a backup`]);
  return key;
}
