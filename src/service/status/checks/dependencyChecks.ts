import { bytesText } from "../../../kernel/text/readableNumbers.ts";
import { SECOND_MS } from "../../../kernel/time.ts";
import type { ContentStore } from "../../../ports/contentStore.ts";
import { destinationOf, type MailSession, type MailTransport } from "../../../ports/mail/mailTransport.ts";
import { openMalwareScanner } from "../../adapters/openAttachmentInspector.ts";
import {
  isOutbox,
  mailDestination,
  openMailTransport,
  openRelays,
} from "../../adapters/openMailTransport.ts";
import { type Config, isRelayMissing } from "../../config/config.ts";
import type { ContentLocation } from "../../config/contentStoreConfig.ts";
import { contentSettings } from "../../logLines/contentLogLines.ts";
import { relayTrouble } from "../../logLines/relayLogLines.ts";
import { type Check, failed, ok, warning } from "./check.ts";

/** How long the relay may take to greet us and accept the login. */
const RELAY_MS_MAX = 15_000;

/** What an open session shows. Only a real message would show whether the relay accepts one. */
function openedText(transport: MailTransport["name"], login: MailSession["login"]): string {
  if (destinationOf(transport) === "files") return "can be written to";
  switch (login) {
    case "accepted":
      return "greets us and accepts the login";
    case "unused":
      return "greets us; it offers a login (AUTH), and SMTP_URL has none";
    default:
      return "greets us";
  }
}

const RELAY_MISSING = failed(
  "relay",
  "SMTP_URL is not set, and a service with these settings does not start without it",
  "set SMTP_URL to your relay, or to `outbox:` to write mail to files",
);

/** Opens a session at each relay and sends nothing. */
export async function relayChecks(config: Config): Promise<readonly Check[]> {
  if (isRelayMissing(config)) return [RELAY_MISSING];
  const relays = openRelays(config);
  if (relays.length < 2) {
    const check = await relayCheck("relay", openMailTransport(config));
    const isLost = check.status === "ok" && isOutbox(config) && !config.isTrial;
    return [isLost ? warning(check.name, outboxDetail(mailDestination(config)), OUTBOX_REMEDY) : check];
  }
  return Promise.all(relays.map(({ name, transport }) => relayCheck(`relay ${name}`, transport)));
}

/** What to know of an outbox that others send to. */
export function outboxDetail(directory: string): string {
  return `the service is not for this machine only, but its mail is written to ${directory} and goes nowhere else`;
}

export const OUTBOX_REMEDY = "set SMTP_URL to your relay; what was written before that stays where it is";

async function relayCheck(called: string, transport: MailTransport): Promise<Check> {
  const name = `${called} (${transport.name})`;
  try {
    const opened = await transport.session(AbortSignal.timeout(RELAY_MS_MAX));
    if (opened.kind !== "session") return failed(name, opened.reason, relayTrouble(opened.trouble).remedy);
    const { login } = opened.session;
    opened.session.release();
    return ok(name, openedText(transport.name, login));
  } finally {
    await transport.close();
  }
}

/** Asks the malware scanner, if there is one. */
export async function scannerChecks(config: Config): Promise<readonly Check[]> {
  const scanner = openMalwareScanner(config);
  if (scanner === null) return [];
  const name = "malware scanner";
  try {
    await scanner.scan(Buffer.from("a text"));
    return [ok(name, "answering")];
  } catch (error) {
    const action = "check that clamd runs and that CLAMAV_URL says where; until then uploads wait";
    return [failed(name, (error as Error).message, action)];
  }
}

function contentStoreName(content: ContentLocation): string {
  switch (content.kind) {
    case "directory":
      return "directory";
    case "s3":
      return `S3 bucket ${content.s3.bucket} at ${new URL(content.s3.endpoint).host}`;
  }
}

function contentCheckName({ content }: Pick<Config, "content">): string {
  return `content (${contentStoreName(content)})`;
}

/** A content store that a service would not start without; the fault says what to do. */
export function contentAway(config: Config, fault: Error): Check {
  return failed(contentCheckName(config), fault.message, null);
}

/** Asks the content store for its id and its clock. */
export async function contentCheck(config: Config, content: ContentStore): Promise<Check> {
  const name = contentCheckName(config);
  const action = `check ${contentSettings(config.content)}`;
  try {
    if ((await content.identity()) === null)
      return failed(name, "it is not in its place: its `identity` is missing", action);
    const aheadSeconds = Math.round(((await content.now()) - Date.now()) / SECOND_MS);
    return ok(name, `answering, its clock ${aheadSeconds} s ahead of ours`);
  } catch (error) {
    const { message, cause } = error as Error;
    const detail = cause instanceof Error ? `${message}: ${cause.message}` : message;
    return failed(name, detail, action);
  }
}

const DISK_PAGE = "docs/operations.md, The disk fills up";
/** `doctor` warns below this many times the free space that is required: that leaves time to make room. */
const DISK_LOW_TIMES = 10;

/** Whether the disk has the free space that is required, and enough beyond that. */
export function diskCheck(freeBytes: number, { diskFreeBytesMin }: Pick<Config, "diskFreeBytesMin">): Check {
  const detail = `${bytesText(freeBytes)} free, DISK_FREE_BYTES_MIN is ${bytesText(diskFreeBytesMin)}`;
  if (freeBytes < diskFreeBytesMin)
    return failed("disk", detail, `make room (${DISK_PAGE}): sends get 503 until there is`);
  if (freeBytes >= diskFreeBytesMin * DISK_LOW_TIMES) return ok("disk", detail);
  return warning("disk", detail, `make room in time (${DISK_PAGE}): below the minimum sends get 503`);
}

/** Not a fault, but not to be forgotten. */
export function webhookChecks({ webhooks }: Config): readonly Check[] {
  const hosts = [...webhooks.allowedPrivateHosts].join(", ");
  if (hosts === "") return [];
  const detail = `may be called at private addresses (WEBHOOK_ALLOW_PRIVATE_HOSTS, for development): ${hosts}`;
  return [ok("webhook destinations", detail)];
}
