import { readLastSeal } from "../../commands/audit/auditSealer.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { formatTrouble } from "../../commands/instance/requireLogFormat.ts";
import type { InstanceState } from "../../domain/instance/state.ts";
import { UnreadableEventError } from "../../kernel/event/codec.ts";
import { POSTLEDGER } from "../../kernel/text/commandName.ts";
import { bytesText } from "../../kernel/text/text.ts";
import { DAY_MS, epochMs, HOUR_MS, MINUTE_MS, rfc3339, SECOND_MS } from "../../kernel/time.ts";
import { DamagedLogError, type EventStore } from "../../ports/eventStore.ts";
import type { MailTransport } from "../../ports/mail/mailTransport.ts";
import type { BehindSince } from "../../readModels/lag.ts";
import { openMalwareScanner } from "../adapters/openAttachmentInspector.ts";
import { openContentStore } from "../adapters/openContentStore.ts";
import { isOutbox, openMailTransport, openRelays } from "../adapters/openMailTransport.ts";
import type { Config } from "../config/config.ts";
import {
  BOOTSTRAP_KEY_REMEDY,
  bootstrapKeyDetail,
  hasBootstrapKey,
  hasWorkspace,
  WORKSPACE_REMEDY,
} from "../firstRun.ts";
import { relayRemedy } from "../relayLogLines.ts";
import { heldDetail } from "./readiness.ts";

/** Above so many of a unit the next larger one is used. */
const AGE_UNIT_COUNT_MAX = 100;
const AGE_UNITS = [
  [SECOND_MS, "s"],
  [MINUTE_MS, "min"],
  [HOUR_MS, "h"],
] as const;

/** One thing that `doctor` looked at, in the service or without one. */
export interface Check {
  readonly name: string;
  /** `warning`: the service does its work, and somebody should know. */
  readonly status: "ok" | "warning" | "failed";
  readonly detail: string;
  /** What to do; null where nothing is to be done. */
  readonly action: string | null;
}

export function ok(name: string, detail: string): Check {
  return { name, status: "ok", detail, action: null };
}

export function warning(name: string, detail: string, action: string): Check {
  return { name, status: "warning", detail, action };
}

export function failed(name: string, detail: string, action: string | null): Check {
  return { name, status: "failed", detail, action };
}

/** How long the relay may take to greet us and take the log-in. */
const RELAY_MS_MAX = 15_000;

/** Opens a session at each relay and sends nothing. */
export async function relayChecks(config: Config): Promise<readonly Check[]> {
  const relays = isOutbox(config) ? [] : openRelays(config);
  if (relays.length < 2) return [await relayCheck("relay", openMailTransport(config))];
  return Promise.all(relays.map(({ name, transport }) => relayCheck(`relay ${name}`, transport)));
}

async function relayCheck(called: string, transport: MailTransport): Promise<Check> {
  const name = `${called} (${transport.name})`;
  try {
    const opened = await transport.session(AbortSignal.timeout(RELAY_MS_MAX));
    if (opened.kind !== "session") return failed(name, opened.reason, relayRemedy(opened.trouble));
    opened.session.release();
    // Whether it takes a message is only seen when it is given one.
    return ok(name, transport.name === "outbox" ? "can be written to" : "greets us and lets us in");
  } finally {
    await transport.close();
  }
}

/** Asks the malware scanner, where there is one. */
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

/** Asks where content is kept for its name and its clock. */
export async function contentCheck(config: Config): Promise<Check> {
  const { s3 } = config;
  const location = s3 === null ? "directory" : `S3 bucket ${s3.bucket} at ${new URL(s3.endpoint).host}`;
  const name = `content (${location})`;
  try {
    const content = openContentStore(config);
    await content.identity();
    const aheadSeconds = Math.round(((await content.now()) - Date.now()) / SECOND_MS);
    return ok(name, `answering, its clock ${aheadSeconds} s ahead of ours`);
  } catch (error) {
    const { message, cause } = error as Error;
    const detail = cause instanceof Error ? `${message}: ${cause.message}` : message;
    const settings =
      s3 === null ? "CONTENT_URL and who owns the directory" : "CONTENT_URL and the S3_ settings";
    return failed(name, detail, `check ${settings}`);
  }
}

function formatCheck(format: number): Check {
  const trouble = formatTrouble(format);
  if (trouble === null) return ok("log format", `${format}, which this program reads`);
  // It says what to do.
  return failed("log format", trouble, null);
}

/** An age as people say it, in a unit that leaves a number with few digits: "90 s", "45 min", "30 h", "9 days". */
export function ageText(ms: number): string {
  const [size, unit] = AGE_UNITS.find(([size]) => ms < AGE_UNIT_COUNT_MAX * size) ?? [DAY_MS, "days"];
  return `${Math.round(ms / size)} ${unit}`;
}

/** How old it may be depends on what was written since: that it is reported is enough. */
export async function lastSealCheck(store: EventStore): Promise<Check> {
  const name = "last seal";
  const last = await readLastSeal(store);
  if (last === null) return ok(name, "none yet");
  const { seal, end } = last;
  const signed = seal.signature === undefined ? "not signed" : "signed";
  return ok(
    name,
    `${ageText(Date.now() - epochMs(seal.at))} ago, ${signed}, ${end.covered} events sealed in all`,
  );
}

/** Only where there is something to say: most logs were neither frozen nor restored. What holds mail says what to do. */
function instanceChecks(instance: InstanceState): readonly Check[] {
  const held = heldDetail(instance);
  const frozenAt = instance?.frozenAt ?? null;
  return [
    ...(frozenAt === null
      ? []
      : [
          failed(
            "freeze",
            `frozen at ${rfc3339(frozenAt)}: it goes on where it was imported`,
            `use the service there; \`${POSTLEDGER} log unfreeze\` lets the log go on here, if it does so nowhere else`,
          ),
        ]),
    ...(held === null ? [] : [failed("delivery", held, null)]),
  ];
}

/** What to do about a log that its store finds damaged. */
export const DAMAGED_LOG_REMEDY =
  "stop the service, keep the log's files as they are, and go back to a backup (docs/operations.md)";

/** What to do about a catalog of the read models that is damaged: the log itself is not. */
export const DAMAGED_CATALOG_REMEDY = `start the service (again), or run \`${POSTLEDGER} projection rebuild\` while none runs: the read models are built anew from the log, which is not damaged`;

/** A log that cannot be read; `otherwise` says what to do where its store does not call it damaged. */
export function unreadableLog(error: Error, otherwise: string): Check {
  return failed("log", error.message, error instanceof DamagedLogError ? DAMAGED_LOG_REMEDY : otherwise);
}

/** A log that answers. */
interface AnsweringLog {
  readonly logId: string;
  readonly storeUrl: string;
  /** How long the store took to answer; left out where nobody has waited for that alone. */
  readonly answeredMs?: number;
  readonly format: number;
}

/** What there is to say of a log that answers. Throws `StoreError`. */
export async function logChecks(
  { store, instanceStatus }: Pick<Dependencies, "store" | "instanceStatus">,
  { logId, storeUrl, answeredMs, format }: AnsweringLog,
): Promise<readonly Check[]> {
  const answering = answeredMs === undefined ? "" : `, answering in ${answeredMs} ms`;
  return [
    ok("log", `${logId} on ${storeUrl.split(":", 1)[0]}${answering}`),
    formatCheck(format),
    ok("master key", "opens the log"),
    ...instanceChecks((await instanceStatus.get()).instance),
    ...(await workspaceChecks(store)),
    await lastSealCheck(store),
  ];
}

/** A read model that stopped. */
export function stoppedReadModel(name: string, failure: string): Check {
  const action = failure.includes(UnreadableEventError.name)
    ? "if no newer version has written it, the log is damaged: restore it from a backup. Then start the service again, and the read model goes on from there"
    : `start the service again; if that does not help, \`${POSTLEDGER} projection rebuild ${name}\``;
  return failed(`read model ${name}`, failure, action);
}

/** Less than this is what a busy service is behind at any moment, in ms. */
const LAG_MS_MAX = 10 * SECOND_MS;

/** How far a read model is behind the log, which something follows, or nothing does for as long as no service runs. */
export function readModelLag(name: string, since: BehindSince, isFollowed: boolean): Check {
  const check = `read model ${name}`;
  if (since === null) return ok(check, "at the head of the log");
  const lagMs = since === "unknown" ? Number.POSITIVE_INFINITY : Math.max(0, Date.now() - since);
  const detail =
    since === "unknown"
      ? "behind the log; how far cannot be read now"
      : `${(lagMs / SECOND_MS).toFixed(1)} s behind the log: it lacks what was written since ${rfc3339(since)}`;
  if (!isFollowed || lagMs < LAG_MS_MAX) return ok(check, detail);
  return warning(check, detail, "wait: it follows by itself; lists show what is missing later");
}

/** Whether the disk has the room that is asked of it, in bytes. */
export function diskCheck(freeBytes: number, { diskFreeBytesMin }: Pick<Config, "diskFreeBytesMin">): Check {
  const detail = `${bytesText(freeBytes)} free, DISK_FREE_BYTES_MIN is ${bytesText(diskFreeBytesMin)}`;
  if (freeBytes >= diskFreeBytesMin) return ok("disk", detail);
  return failed("disk", detail, "make room: sends get 503 until there is");
}

/** What is no fault of its own, but must not be forgotten. */
export function webhookChecks({ webhooks }: Config): readonly Check[] {
  const hosts = [...webhooks.allowedPrivateHosts].join(", ");
  if (hosts === "") return [];
  const detail = `may be called at private addresses (WEBHOOK_ALLOW_PRIVATE_HOSTS, for development): ${hosts}`;
  return [ok("webhook destinations", detail)];
}

/** As long as nobody can use the service, for want of a workspace. */
async function workspaceChecks(store: EventStore): Promise<readonly Check[]> {
  if (await hasWorkspace(store)) return [];
  return [warning("workspaces", "there is none, so nobody can use the service", WORKSPACE_REMEDY)];
}

/** For as long as the key of a first run is in its file. */
export function firstKeyChecks({ dataDir }: Pick<Config, "dataDir">): readonly Check[] {
  if (!hasBootstrapKey(dataDir)) return [];
  return [warning("first key", bootstrapKeyDetail(dataDir), BOOTSTRAP_KEY_REMEDY)];
}
