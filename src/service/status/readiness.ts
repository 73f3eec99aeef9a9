import type { Dependencies } from "../../commands/dependencies.ts";
import { RELAY_DETAILS } from "../../domain/email/waitingReason.ts";
import type { InstanceState, Restoration } from "../../domain/instance/state.ts";
import type { DashboardOptions } from "../../http/dashboard/frame/dashboardOptions.ts";
import type { Check } from "../../http/health/healthController.ts";
import { settleWithin } from "../../kernel/concurrency/sleep.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import { bytesText } from "../../kernel/text/readableNumbers.ts";
import { rfc3339 } from "../../kernel/time.ts";
import type { ContentStoreHealth } from "../../reactors/content/contentStoreHealth.ts";
import type { MailDeliveryWorker } from "../../reactors/email/mailDeliveryWorker.ts";
import type { FreezeWatch } from "../../reactors/instance/freezeWatch.ts";
import type { ReaderStatus, Readers } from "../../readModels/readModelReaders.ts";
import { isOutbox } from "../adapters/openMailTransport.ts";
import { hasWorkspace } from "../bootstrapWorkspace.ts";
import type { Config } from "../config/config.ts";
import type { LogDamage } from "./logDamage.ts";
import { beingBuilt } from "./readModelBuildProgress.ts";

/** How far a read model may be behind the log before the service reports itself unready. */
const READY_LAG_MS_MAX = 10_000;
/** How long each check waits for the store. They wait together, so the answer comes before callers give up. */
const STORE_MS_MAX = 3_000;

const FROZEN = `the log was frozen: it goes on where it was imported (start again after \`${POSTLEDGER} log unfreeze\`)`;

interface ReadinessOptions {
  readonly config: Config;
  readonly deps: Dependencies;
  readonly damage: Pick<LogDamage, "reason">;
  readonly readers: Readers;
  readonly delivery: Pick<MailDeliveryWorker, "relayFault">;
  readonly contentHealth: Pick<ContentStoreHealth, "reads" | "writes">;
  readonly freezeWatch: FreezeWatch;
  readonly readModelBuild: DashboardOptions["readModelBuild"];
}

/**
 * What `/health/ready` checks. Trouble with the relay or the content store is shown but does not make the service
 * unready: other mail goes on.
 */
export function readinessOf(options: ReadinessOptions): () => Promise<Readonly<Record<string, Check>>> {
  const { config, deps, delivery } = options;
  const readModels = readModelCheck(options);
  const workspaces = workspaceCheck(options);
  const look = async () => {
    const free = deps.disk.freeBytes();
    // Anybody may ask, so the relay's own words, which may name it, stay in the log.
    const fault = delivery.relayFault;
    const relay = fault === null ? takingDetail(config) : RELAY_DETAILS[fault.trouble];
    const [store, read_models, instance, workspace] = await Promise.all([
      storeCheck(options),
      readModels(),
      settleWithin(STORE_MS_MAX, instanceChecks(options), () => ({})),
      settleWithin(STORE_MS_MAX, workspaces(), () => ({})),
    ]);
    return {
      store,
      read_models,
      disk: diskReadiness(free, config),
      ...instance,
      ...workspace,
      relay: { ok: fault === null, required: false, detail: relay },
      content: contentReadiness(options),
    };
  };
  let underWay: ReturnType<typeof look> | null = null;
  // Anybody may ask, and each check asks the store: callers that come meanwhile share the answer.
  return () => {
    underWay ??= look().finally(() => {
      underWay = null;
    });
    return underWay;
  };
}

function diskReadiness(free: number, { diskFreeBytesMin }: Pick<Config, "diskFreeBytesMin">): Check {
  const ok = free >= diskFreeBytesMin;
  const missing = ok ? "" : `, DISK_FREE_BYTES_MIN is ${bytesText(diskFreeBytesMin)}: sends get 503`;
  return { ok, required: true, detail: `${bytesText(free)} free${missing}` };
}

/** As deliveries, sends and uploads found it: it is not asked for this. The store's own words stay in the log. */
function contentReadiness({ contentHealth: { reads, writes } }: ReadinessOptions): Check {
  const troubles = [
    ...(reads.trouble === null ? [] : ["not answering: messages with files or long content wait"]),
    ...(writes.trouble === null
      ? []
      : ["taking nothing: uploads, and sends with files or long content, get 503"]),
  ];
  return { ok: troubles.length === 0, required: false, detail: troubles.join("; ") || "answering" };
}

function takingDetail(config: Config): string {
  return isOutbox(config) ? "Mail is written to files and goes nowhere else." : "Taking mail.";
}

/** Only if there is something to say: most logs were never frozen or restored. */
async function instanceChecks({
  deps,
  freezeWatch,
}: ReadinessOptions): Promise<Readonly<Record<string, Check>>> {
  // A store that does not answer has its own check.
  const found = await deps.instanceStatus.get().catch(() => null);
  const held = heldDetail(found?.instance ?? null);
  return {
    ...((await freezeWatch.isKnownFrozen()) ? { seal: { ok: false, required: true, detail: FROZEN } } : {}),
    ...(held === null ? {} : { delivery: { ok: false, required: false, detail: held } }),
  };
}

/**
 * Only if there is no workspace. A service that others reach may have lost its log then: unready, it gets no calls, whose
 * 401 would tell callers to give up.
 */
function workspaceCheck({ config, deps }: ReadinessOptions): () => Promise<Readonly<Record<string, Check>>> {
  let isThere = config.isTrial;
  return async () => {
    // A store that does not answer has its own check.
    const found = isThere || (await hasWorkspace(deps.store).catch(() => null));
    isThere = found === true;
    return found === false
      ? { workspaces: { ok: false, required: true, detail: "there is no workspace" } }
      : {};
  };
}

/** What to say about a log that holds mail for its operator; null if it holds none. */
export function heldDetail(instance: InstanceState): string | null {
  if (!instance?.isHeld || instance.restored === null) return null;
  const since = heldSince(instance.restored);
  // A frozen original has sent nothing since.
  const look = instance.restored.sealed
    ? ""
    : "first list what was sent after that (--except, docs/backups.md), then ";
  return `unfinished work has been held since ${since}: ${look}\`${POSTLEDGER} delivery resume\` lets it go on`;
}

function heldSince({ from, at, takenAt }: Restoration): string {
  const [found, left] = [rfc3339(at), rfc3339(takenAt)];
  if (from === "loss")
    return `the log was found to lack its newest events at ${found}; the newest one left is from ${left}`;
  const copy = from === "backup" ? "a backup" : "an export";
  return `the log was restored at ${found} from ${copy} as of ${left}`;
}

async function storeCheck({ deps, damage }: ReadinessOptions): Promise<Check> {
  // Most calls of a damaged log still succeed. What is damaged, with its path, is in the service's log.
  if (damage.reason !== null) return { ok: false, required: true, detail: "damaged" };
  try {
    await deps.store.head({ timeoutMs: STORE_MS_MAX });
    return { ok: true, required: true, detail: "answering" };
  } catch {
    return { ok: false, required: true, detail: "not answering" };
  }
}

const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;

const QUOTED_PATH = /'[^']*\/[^']*'/g;

/** Anybody may ask, so ids and file names appear only in `doctor` and the service's log. */
function withoutDetails(reason: string): string {
  return reason.replace(ID, "…").replace(QUOTED_PATH, "…");
}

/** Of a read model that nobody can ask yet, at a start. */
const NOT_OPENED = "not opened yet";

/** Each reason once, after the names of the read models that it keeps from being asked. */
function failuresOf(models: readonly ReaderStatus[]): readonly string[] {
  const stopped = models.filter(({ state }) => state === "failed" || state === "absent");
  const byReason = Map.groupBy(stopped, ({ failure }) => withoutDetails(failure ?? NOT_OPENED));
  return [...byReason].map(([reason, those]) => `${those.map(({ name }) => name).join(", ")}: ${reason}`);
}

/**
 * Not ready when a read model has failed, lags, or is still being built and has not caught up since the start: its
 * lists would show nearly nothing.
 */
function readModelCheck({ readers, readModelBuild }: ReadinessOptions): () => Promise<Check> {
  const haveBeenLevel = new Set<string>();
  return async () => {
    const build = await settleWithin(STORE_MS_MAX, readModelBuild(), () => null);
    const models = readers.status();
    for (const { name, isCaughtUp } of models) if (isCaughtUp) haveBeenLevel.add(name);
    const failures = failuresOf(models);
    const isNew = models.some(({ name, state }) => state !== "failed" && !haveBeenLevel.has(name));
    const isLate = build !== null && (isNew || build.lagMs > READY_LAG_MS_MAX);
    const progress = build === null ? [] : [beingBuilt(build.done)];
    return {
      ok: failures.length === 0 && !isLate,
      required: true,
      detail: [...failures, ...progress].join("; ") || "caught up",
    };
  };
}
