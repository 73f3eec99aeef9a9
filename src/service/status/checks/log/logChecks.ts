import { readLastSeal } from "../../../../commands/audit/auditSealer.ts";
import type { Dependencies } from "../../../../commands/dependencies.ts";
import { InstanceMismatchError } from "../../../../commands/instance/instanceMismatchError.ts";
import { FrozenLogError } from "../../../../commands/instance/openInstance.ts";
import { formatTrouble } from "../../../../commands/instance/requireLogFormat.ts";
import { DiskFullError } from "../../../../commands/storage/diskFullError.ts";
import type { InstanceState } from "../../../../domain/instance/state.ts";
import { POSTLEDGER } from "../../../../kernel/text/cliInvocation.ts";
import { grouped } from "../../../../kernel/text/readableNumbers.ts";
import { epochMs, rfc3339 } from "../../../../kernel/time.ts";
import { DamagedLogError, type EventStore } from "../../../../ports/eventStore.ts";
import { isEmbedded, logDirectory } from "../../../adapters/openStore.ts";
import { hasWorkspace, WORKSPACE_REMEDY } from "../../../bootstrapWorkspace.ts";
import type { Config } from "../../../config/config.ts";
import { ConfigError } from "../../../config/configError.ts";
import { isDiskFull, MAKE_ROOM } from "../../../faults/isDiskFull.ts";
import { ageText } from "../../ageText.ts";
import { DAMAGED_LOG_REMEDY } from "../../logDamage.ts";
import { heldDetail } from "../../readiness.ts";
import { type Check, failed, ok, warning } from "../check.ts";
import { backupChecks } from "./backupChecks.ts";
import { followedCopyChecks } from "./followedCopyChecks.ts";

function formatCheck(format: number): Check {
  const trouble = formatTrouble(format);
  if (trouble === null) return ok("log format", `${format}, which this program reads`);
  // The text itself says what to do.
  return failed("log format", trouble, null);
}

const MISSING_KEY_REMEDY = `set AUDIT_SIGNING_KEY (or AUDIT_SIGNING_KEY_FILE) to the key, and start the service again; \`${POSTLEDGER} audit seal --unsigned\` stops signing for good`;

type SealConfig = Pick<Config, "auditSealIntervalMs" | "auditSigningKey">;

/**
 * Its age is only reported: how old a seal may be depends on what was written since. Failed if the service has stopped
 * sealing because it lacks the key.
 */
export async function lastSealCheck(store: EventStore, config: SealConfig): Promise<Check> {
  const name = "last seal";
  const last = await readLastSeal(store);
  if (last === null) return ok(name, "none yet");
  const { seal, end } = last;
  const signed = end.isSigned ? "signed" : "not signed";
  const detail = `${ageText(Date.now() - epochMs(seal.at))} ago, ${signed}, ${grouped(end.covered)} events sealed in all`;
  const { auditSealIntervalMs, auditSigningKey } = config;
  if (!end.isSigned || auditSigningKey !== null || auditSealIntervalMs === 0) return ok(name, detail);
  return failed(name, `${detail}; without the key nothing more is sealed`, MISSING_KEY_REMEDY);
}

/** Only if there is something to say: most logs were never frozen or restored. `held` says itself what to do. */
function instanceChecks(instance: InstanceState): readonly Check[] {
  const held = heldDetail(instance);
  const frozenAt = instance?.frozenAt ?? null;
  const checks: Check[] = [];
  const remedy = `use the service there; \`${POSTLEDGER} log unfreeze\` lets the log go on here, if it does so nowhere else`;
  if (frozenAt !== null)
    checks.push(failed("freeze", `frozen at ${rfc3339(frozenAt)}: it goes on where it was imported`, remedy));
  if (held !== null) checks.push(failed("delivery", held, null));
  return checks;
}

/** A warning while nobody can use the service, because there is no workspace. */
async function workspaceChecks(store: EventStore): Promise<readonly Check[]> {
  if (await hasWorkspace(store)) return [];
  return [warning("workspaces", "there is none, so nobody can use the service", WORKSPACE_REMEDY)];
}

/** Errors whose text says itself what to do. */
const TELLING = [DiskFullError, ConfigError, InstanceMismatchError, FrozenLogError];

/** A log that cannot be read; `otherwise` says what to do if neither its store calls it damaged nor its disk is full. */
export function unreadableLog(error: Error, config: Pick<Config, "storeUrl">, otherwise: string): Check {
  if (TELLING.some((kind) => error instanceof kind)) return failed("log", error.message, null);
  const isFull = isEmbedded(config) && isDiskFull(error, logDirectory(config));
  const remedy = isFull ? MAKE_ROOM : otherwise;
  return failed("log", error.message, error instanceof DamagedLogError ? DAMAGED_LOG_REMEDY : remedy);
}

interface AnsweringLog {
  readonly logId: string;
  readonly config: SealConfig & Pick<Config, "storeUrl">;
  /** How long the store took to answer; left out if nobody measured it. */
  readonly answeredMs?: number;
  readonly format: number;
}

/** The checks of a log that answers. Throws `StoreError`. */
export async function logChecks(
  { store, instanceStatus }: Pick<Dependencies, "store" | "instanceStatus">,
  { logId, config, answeredMs, format }: AnsweringLog,
): Promise<readonly Check[]> {
  const answering = answeredMs === undefined ? "" : `, answering in ${answeredMs} ms`;
  const { instance } = await instanceStatus.get();
  return [
    ok("log", `${logId} on ${config.storeUrl.split(":", 1)[0]}${answering}`),
    formatCheck(format),
    ok("master key", "opens the log"),
    ...instanceChecks(instance),
    ...(await workspaceChecks(store)),
    await lastSealCheck(store, config),
    ...backupChecks(config, instance),
    ...(await followedCopyChecks({ config, store, instance })),
  ];
}
