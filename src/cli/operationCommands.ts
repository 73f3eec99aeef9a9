import { projections } from "../../projections/index.ts";
import { lockDirectory } from "../adapters/sqlite/directoryLock.ts";
import { formatTrouble } from "../commands/enterLogFormat.ts";
import { readLastSeal } from "../commands/sealLog.ts";
import type { Config } from "../config.ts";
import type { InstanceState } from "../domain/instance/state.ts";
import { UnreadableEventError } from "../kernel/codec.ts";
import { epochMs, rfc3339, SECOND_MS } from "../kernel/time.ts";
import { openContentStore, openScanner, openTransport } from "../openParts.ts";
import type { EventStore } from "../ports/eventStore.ts";
import { heldDetail } from "../readiness.ts";
import { listReadModels, type ReadModelListing } from "../readModels/list.ts";
import { type Command, CommandFailure } from "./command.ts";
import type { Finding } from "./finding.ts";
import { type OpenForCommand, withLog } from "./openForCommand.ts";
import { verificationFindings } from "./verificationFindings.ts";

async function relayFinding(config: Config): Promise<Finding> {
  const transport = openTransport(config);
  const opened = await transport.session(AbortSignal.timeout(15_000));
  if (opened.kind === "session") opened.session.release();
  await transport.close();
  const name = `relay (${transport.name})`;
  return opened.kind === "session"
    ? { name, ok: true, detail: "taking mail" }
    : { name, ok: false, detail: opened.reason };
}

async function scannerFindings(config: Config): Promise<readonly Finding[]> {
  const scanner = openScanner(config);
  if (scanner === null) return [];
  const name = "malware scanner";
  try {
    await scanner.scan(Buffer.from("a text"));
    return [{ name, ok: true, detail: "answering" }];
  } catch (error) {
    return [{ name, ok: false, detail: (error as Error).message }];
  }
}

/** What to do about an event that stops a read model; what else can stop one says so itself. */
function remedyOf(failure: string): string {
  if (!failure.includes(UnreadableEventError.name)) return "";
  return ". If no newer version has written it, the log is damaged: restore it from a backup. Then start the service again, and the read model goes on from there";
}

function readModelFinding({ name, status, isAtHead, failure }: ReadModelListing): Finding {
  const finding = { name: `read model ${name}`, ok: failure === null };
  if (failure !== null) return { ...finding, detail: failure + remedyOf(failure) };
  if (status === "absent") return { ...finding, detail: "not built yet" };
  return { ...finding, detail: isAtHead ? "at the head of the log" : "behind the log" };
}

function formatFinding(format: number): Finding {
  const trouble = formatTrouble(format);
  return {
    name: "log format",
    ok: trouble === null,
    detail: trouble ?? `${format}, which this program reads`,
  };
}

/** How old it may be depends on what was written since: that it is told is enough. */
async function sealFinding(store: EventStore): Promise<Finding> {
  const name = "last seal";
  const last = await readLastSeal(store);
  if (last === null) return { name, ok: true, detail: "none yet" };
  const { seal, end } = last;
  const seconds = Math.round((Date.now() - epochMs(seal.at)) / SECOND_MS);
  const signed = seal.signature === undefined ? "not signed" : "signed";
  return { name, ok: true, detail: `${seconds} s ago, ${signed}, ${end.covered} events sealed in all` };
}

async function logFindings(config: Config): Promise<readonly Finding[]> {
  const look = async ({ services, place, logId, format }: OpenForCommand) => {
    const listing = await listReadModels({ ...place, store: services.store, projections });
    const free = services.disk.freeBytes();
    return [
      { name: "log", ok: true, detail: `${logId} on ${config.storeUrl.split(":", 1)[0]}` },
      formatFinding(format),
      { name: "master key", ok: true, detail: "opens the log" },
      ...standingFindings((await services.standing.get()).instance),
      await sealFinding(services.store),
      { name: "disk", ok: free >= config.diskFreeBytesMin, detail: `${free} bytes free` },
      ...listing.filter(({ status }) => status !== "retired" && status !== "building").map(readModelFinding),
    ];
  };
  try {
    return await withLog(config, look, { looksOnly: true });
  } catch (error) {
    // Where there is nothing, there is nothing to look at.
    if (error instanceof CommandFailure) throw error;
    return [{ name: "log", ok: false, detail: (error as Error).message }];
  }
}

/** Only where there is something to say. */
function standingFindings(instance: InstanceState): readonly Finding[] {
  const held = heldDetail(instance);
  const sealedAt = instance?.sealedAt ?? null;
  const sealed = `sealed at ${rfc3339(sealedAt ?? 0)}: it goes on where it was imported`;
  return [
    ...(sealedAt === null ? [] : [{ name: "seal", ok: false, detail: sealed }]),
    ...(held === null ? [] : [{ name: "delivery", ok: false, detail: held }]),
  ];
}

async function contentFinding(config: Config): Promise<Finding> {
  const { s3 } = config;
  const place = s3 === null ? "directory" : `S3 bucket ${s3.bucket} at ${new URL(s3.endpoint).host}`;
  const name = `content (${place})`;
  try {
    const content = openContentStore(config);
    await content.identity();
    const aheadSeconds = Math.round(((await content.now()) - Date.now()) / 1_000);
    return { name, ok: true, detail: `answering, its clock ${aheadSeconds} s ahead of ours` };
  } catch (error) {
    const { message, cause } = error as Error;
    return { name, ok: false, detail: cause instanceof Error ? `${message}: ${cause.message}` : message };
  }
}

/** What is no fault of its own, but must not be forgotten. */
function webhookFindings({ webhooks }: Config): readonly Finding[] {
  const hosts = [...webhooks.allowedPrivateHosts].join(", ");
  if (hosts === "") return [];
  const detail = `may be called at private addresses (WEBHOOK_ALLOW_PRIVATE_HOSTS, for development): ${hosts}`;
  return [{ name: "webhook destinations", ok: true, detail }];
}

function ownerFinding(config: Config): Finding {
  const lock = lockDirectory(config.dataDir);
  lock?.release();
  return { name: "service", ok: true, detail: lock === null ? "running on this DATA_DIR" : "not running" };
}

const doctor: Command = {
  name: "doctor",
  summary: "Check what the service depends on, and say what to do",
  description: "Exit status 1 when a check has failed.",
  examples: ["postledger doctor", "postledger doctor --json"],
  async run(invocation) {
    const { config } = invocation;
    const ofTheLog = await logFindings(config);
    const findings = [
      ownerFinding(config),
      await contentFinding(config),
      ...ofTheLog,
      ...verificationFindings(config),
      ...(await scannerFindings(config)),
      await relayFinding(config),
      ...webhookFindings(config),
    ];
    const lines = findings.map(({ ok, name, detail }) => `${ok ? "ok  " : "FAIL"}  ${name}: ${detail}`);
    invocation.print(findings, lines);
    return findings.every(({ ok }) => ok) ? 0 : 1;
  },
};

export const operationCommands: readonly Command[] = [doctor];
