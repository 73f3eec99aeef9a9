import { readLastSeal } from "../../commands/audit/auditSealer.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { formatTrouble } from "../../commands/instance/requireLogFormat.ts";
import type { InstanceState } from "../../domain/instance/state.ts";
import { POSTLEDGER } from "../../kernel/text/commandName.ts";
import { DAY_MS, epochMs, HOUR_MS, MINUTE_MS, rfc3339, SECOND_MS } from "../../kernel/time.ts";
import { DamagedLogError, type EventStore } from "../../ports/eventStore.ts";
import { hasWorkspace, WORKSPACE_REMEDY } from "../firstRun.ts";
import { type Check, failed, ok, warning } from "./check.ts";
import { heldDetail } from "./readiness.ts";

/** Above so many of a unit the next larger one is used. */
const AGE_UNIT_COUNT_MAX = 100;
const AGE_UNITS = [
  [SECOND_MS, "s"],
  [MINUTE_MS, "min"],
  [HOUR_MS, "h"],
] as const;

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
  const checks: Check[] = [];
  const remedy = `use the service there; \`${POSTLEDGER} log unfreeze\` lets the log go on here, if it does so nowhere else`;
  if (frozenAt !== null)
    checks.push(failed("freeze", `frozen at ${rfc3339(frozenAt)}: it goes on where it was imported`, remedy));
  if (held !== null) checks.push(failed("delivery", held, null));
  return checks;
}

/** What to do about a log that its store finds damaged. */
export const DAMAGED_LOG_REMEDY =
  "stop the service, keep the log's files as they are, and go back to a backup (docs/operations.md)";

/** As long as nobody can use the service, for want of a workspace. */
async function workspaceChecks(store: EventStore): Promise<readonly Check[]> {
  if (await hasWorkspace(store)) return [];
  return [warning("workspaces", "there is none, so nobody can use the service", WORKSPACE_REMEDY)];
}

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
