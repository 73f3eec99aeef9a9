import { projections } from "../../projections/index.ts";
import { lockDirectory } from "../adapters/sqlite/directoryLock.ts";
import type { Config } from "../config.ts";
import type { InstanceState } from "../domain/instance/state.ts";
import { rfc3339 } from "../kernel/time.ts";
import { openContentStore, openScanner, openTransport } from "../openParts.ts";
import { heldDetail } from "../readiness.ts";
import { listReadModels } from "../readModels/list.ts";
import type { Command } from "./command.ts";
import { withLog } from "./openForCommand.ts";

interface Finding {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

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

async function logFindings(config: Config): Promise<readonly Finding[]> {
  try {
    return await withLog(config, async ({ services, place, logId }) => {
      const listing = await listReadModels({ ...place, store: services.store, projections });
      const free = services.disk.freeBytes();
      return [
        { name: "log", ok: true, detail: `${logId} on ${config.storeUrl.split(":", 1)[0]}` },
        { name: "master key", ok: true, detail: "opens the log" },
        ...standingFindings((await services.standing.get()).instance),
        { name: "disk", ok: free >= config.diskFreeBytesMin, detail: `${free} bytes free` },
        ...listing
          .filter(({ status }) => status !== "retired" && status !== "building")
          .map(({ name, status, isAtHead, failure }) => ({
            name: `read model ${name}`,
            ok: failure === null,
            detail:
              failure ??
              (isAtHead
                ? "at the head of the log"
                : status === "absent"
                  ? "not built yet"
                  : "behind the log"),
          })),
      ];
    });
  } catch (error) {
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
  summary: "Look at everything that the service depends on",
  async run(invocation) {
    const { config } = invocation;
    const findings = [
      ownerFinding(config),
      await contentFinding(config),
      ...(await logFindings(config)),
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
