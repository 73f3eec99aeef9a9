import { hostname } from "node:os";
import { freezeLog } from "../../commands/instance/freezeLog.ts";
import { registeredServices } from "../../commands/instance/registerService.ts";
import { type EpochMs, SECOND_MS } from "../../kernel/time.ts";
import { isEmbedded } from "../../service/adapters/openStore.ts";
import type { Config } from "../../service/config/config.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import { progressBar } from "../output/progressBar.ts";
import type { OpenForCommand } from "../program/openStoreForCommand.ts";
import { askRunningService } from "../service/askRunningService.ts";

/** Instances notice a freeze within a second; the rest allows for a busy machine. */
const FREEZE_NOTICED_MS = 2 * SECOND_MS;
/** How often to ask a service whether it is done. */
const ASK_EVERY_MS = 100;
const ASK_MS_MAX = 2_000;

/** How long running instances may take to finish what they had begun when the log was frozen. */
function settleMs({ requestTimeoutMs, drainTimeoutMs }: Config): number {
  return Math.max(requestTimeoutMs, drainTimeoutMs) + FREEZE_NOTICED_MS;
}

/** Where services run that may still write to a frozen log. */
type Unsettled = () => Promise<readonly string[]>;

/**
 * On the embedded store: the service on this data directory, until it has seen the freeze and has nothing in flight,
 * or has ended. On a server: the services in the log's register, which leave it at that point.
 */
function unsettledServices({ log }: OpenForCommand, config: Config): Unsettled {
  if (!isEmbedded(config)) {
    const atWork = registeredServices(log);
    return async () => (await atWork()).map(({ host, dataDir }) => `${host}:${dataDir}`);
  }
  return async () => {
    const answer = await askRunningService(config.dataDir, "/settled", ASK_MS_MAX);
    const isSettled = answer.kind === "none" || (answer.kind === "answered" && answer.body === true);
    return isSettled ? [] : [`${hostname()}:${config.dataDir}`];
  };
}

/**
 * Freezes the log and waits until nobody can be writing to it, so everything promised by then is in the export.
 * Returns where services run, or have died, that did not report in time that they are done.
 */
export async function freezeAndSettle(
  open: OpenForCommand,
  config: Config,
  nobodyRuns: boolean,
): Promise<readonly string[]> {
  const frozenAt = await freezeLog(open.log, systemCommandContext("cli"));
  if (nobodyRuns) return [];
  const until: EpochMs = (frozenAt ?? 0) + settleMs(config);
  const find = unsettledServices(open, config);
  const bar = progressBar("frozen");
  let unsettled = await find();
  for (let left = until - Date.now(); left > 0 && unsettled.length > 0; left = until - Date.now()) {
    bar.show(
      1 - left / settleMs(config),
      `running instances finish what they have begun, ${Math.ceil(left / SECOND_MS)} s at most`,
    );
    await Bun.sleep(Math.min(left, ASK_EVERY_MS));
    unsettled = await find();
  }
  bar.end();
  return unsettled;
}
