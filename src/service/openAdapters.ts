import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { clamavScanner } from "../adapters/clamav/clamavScanner.ts";
import { directoryContentStore } from "../adapters/directory/directoryContentStore.ts";
import { readOrCreate } from "../adapters/directory/durableFile.ts";
import { fileInspector } from "../adapters/files/fileInspector.ts";
import { destinationCheck } from "../adapters/https/ssrfGuard.ts";
import { webhookTransport } from "../adapters/https/webhookTransport.ts";
import { createOutboxTransport } from "../adapters/nodemailer/emlFileTransport.ts";
import { outboxFiles } from "../adapters/nodemailer/outboxCleanup.ts";
import { smtpOptionsFromUrl } from "../adapters/nodemailer/smtpOptions.ts";
import { createSmtpTransport } from "../adapters/nodemailer/smtpTransport.ts";
import { s3ContentStore } from "../adapters/s3/s3ContentStore.ts";
import { openSqliteEventStore } from "../adapters/sqlite/sqliteEventStore.ts";
import { systemClock } from "../adapters/system/systemClock.ts";
import { claimContent, requireUnclaimed } from "../commands/instance/claimContentStore.ts";
import { type OpenInstance, openInstance } from "../commands/instance/openInstance.ts";
import { enterLogFormat } from "../commands/instance/raiseLogFormat.ts";
import { INSTANCE_STREAM } from "../domain/instance/events.ts";
import type { CommandContext } from "../kernel/event/eventMetadata.ts";
import { newRequestId } from "../kernel/ids.ts";
import type { AttachmentInspector } from "../ports/attachmentInspector.ts";
import type { ContentStore } from "../ports/contentStore.ts";
import { type EventStore, StoreError } from "../ports/eventStore.ts";
import type { MailTransport } from "../ports/mailTransport.ts";
import type { MalwareScanner } from "../ports/malwareScanner.ts";
import type { MailOutbox } from "../ports/outboxCleanup.ts";
import type { DestinationCheck, WebhookTransport } from "../ports/webhookTransport.ts";
import type { Config } from "./config/config.ts";
import { ConfigError } from "./config/configError.ts";
import { parseMasterKey } from "./config/masterKeyConfig.ts";
import { connectionStringError, contentError, directoryError, storeError } from "./startupErrors.ts";

/** Whether the log is a file of this machine, not a server's. */
export function isEmbedded({ storeUrl }: Pick<Config, "storeUrl">): boolean {
  return storeUrl.startsWith("file:");
}

/** Whether mail goes to files and not to a relay. */
export function isOutbox({ smtpUrl }: Pick<Config, "smtpUrl">): boolean {
  return smtpUrl.startsWith("outbox:");
}

/** How the log is opened. */
export interface OpenStoreOptions {
  /** KiB of the embedded log's pages that are kept in memory, for whoever comes back to them; without it, enough for going through the log. */
  readonly cacheKib?: number;
  /**
   * Appends stand in the log in the order of their calls, though none waits for the one before: for a process that
   * imports a log and does nothing else.
   */
  readonly inOrder?: boolean;
  /** Opens also an embedded log that somebody has tampered with: only to say how. */
  readonly evenIfFaulty?: boolean;
}

/** Opens the log that STORE_URL names. */
export async function openStore(
  config: Pick<Config, "storeUrl" | "storeTimeoutMs">,
  { cacheKib, inOrder = false, evenIfFaulty = false }: OpenStoreOptions = {},
): Promise<EventStore> {
  const { storeUrl, storeTimeoutMs: timeoutMs } = config;
  if (isEmbedded(config)) {
    const directory = storeUrl.slice("file:".length);
    requireRestored(directory);
    // It always keeps the order: its appends wait in line.
    const path = join(directory, "events.db");
    try {
      const cache = cacheKib === undefined ? {} : { cacheKib };
      return openSqliteEventStore({ path, timeoutMs, evenIfFaulty, ...cache });
    } catch (error) {
      if (error instanceof StoreError) throw error;
      throw directoryError("STORE_URL", storeUrl, error);
    }
  }
  // Loaded only when it is used: the client and its gRPC stack cost a start on the embedded store a third of a second.
  const { connectEventStoreDb } = await import("../adapters/eventstoredb/eventStoreDb.ts");
  try {
    return await connectEventStoreDb({ url: storeUrl, timeoutMs, inOrder });
  } catch (error) {
    throw error instanceof StoreError ? storeError(config, error) : connectionStringError();
  }
}

/** Beside the log's file for as long as a backup is being restored there. */
export const RESTORING = "restoring";

function requireRestored(directory: string): void {
  if (!existsSync(join(directory, RESTORING))) return;
  throw new ConfigError([
    `a restore into ${directory} was interrupted: run the same \`postledger backup restore\` again`,
  ]);
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
  if (isOutbox(config)) {
    return createOutboxTransport(
      { directory: relayPlace(config), sessionsMax: config.smtpConnectionsMax },
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
export function relayPlace({ smtpUrl, dataDir }: Pick<Config, "smtpUrl" | "dataDir">): string {
  if (isOutbox({ smtpUrl })) return smtpUrl.slice("outbox:".length) || join(dataDir, "outbox");
  const { host, port } = smtpOptionsFromUrl(smtpUrl);
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The mail that outbox transports of this instance have written, also those of settings before. */
export function openOutbox({ dataDir, smtpUrl }: Config): MailOutbox {
  const named = isOutbox({ smtpUrl }) ? smtpUrl.slice("outbox:".length) : "";
  return outboxFiles([join(dataDir, "outbox"), ...(named === "" ? [] : [named])]);
}

/** What calls webhook endpoints. */
export function openWebhookTransport({ dnsServers, webhooks }: Config): WebhookTransport {
  const { allowedPrivateHosts, certificateAuthorities, callTimeoutMs } = webhooks;
  return webhookTransport({ dnsServers, allowedPrivateHosts, certificateAuthorities, callTimeoutMs });
}

/** What looks at webhook destinations when they are named. */
export function openDestinationCheck({ dnsServers, webhooks }: Config): DestinationCheck {
  return destinationCheck({ dnsServers, allowedPrivateHosts: webhooks.allowedPrivateHosts });
}

/** Something that the operator or the system does, not a caller. */
export function systemCommandContext(actor: string): CommandContext {
  return { at: systemClock.now(), correlationId: newRequestId(), actor };
}

/** What a log is opened for. */
export interface LogUse {
  /** Nothing will be appended: a log of a newer format than we read may be looked at all the same. */
  readonly looksOnly?: boolean;
}

/** Proves that the settings belong to the log, and gives its keys. Throws what `openInstance` throws. */
export async function openLogInstance(
  config: Config,
  store: EventStore,
  content: ContentStore,
  { looksOnly = false }: LogUse = {},
): Promise<OpenInstance> {
  await store.lastRevision(INSTANCE_STREAM).catch((error: unknown) => {
    throw storeError(config, error);
  });
  const masterKey = config.masterKey ?? (await ownMasterKey(config.dataDir, store));
  const contentStoreId = await content.identity().catch((error: unknown) => {
    throw contentError(config, error);
  });
  const claims = { masterKey, masterKeyPrevious: config.masterKeyPrevious, contentStoreId };
  await requireUnclaimed(store, content);
  const opened = await openInstance(store, claims, systemCommandContext("system"));
  await claimContent(content, opened.logId);
  if (!looksOnly) await enterLogFormat(store, opened.format, systemCommandContext("system"));
  return opened;
}

/** The embedded store's own master key: made at the first start, in a file that only its owner can read. */
async function ownMasterKey(dataDir: string, store: EventStore): Promise<Uint8Array> {
  const path = join(dataDir, "master.key");
  if (!existsSync(path) && (await store.lastRevision(INSTANCE_STREAM)) !== null) {
    throw new ConfigError([`${path} is missing: put the log's own there, or set MASTER_KEY to it`]);
  }
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const text = await readOrCreate(path, () => crypto.getRandomValues(new Uint8Array(32)).toBase64());
  const key = parseMasterKey(text);
  if (key === null)
    throw new ConfigError([`${path} does not hold 32 bytes in base64: restore it from a backup`]);
  return key;
}
