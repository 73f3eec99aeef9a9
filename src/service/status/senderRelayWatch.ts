import type { Logger } from "pino";
import type { Dependencies } from "../../commands/dependencies.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import type { RelayRouter } from "../../reactors/email/relayRouter.ts";
import { type PeriodicWorker, periodicWorker } from "../../reactors/worker/periodicWorker.ts";
import type { Readers } from "../../readModels/readModelReaders.ts";
import { NO_RELAY_REMEDY } from "./checks/senderRelayChecks.ts";
import { sendersWithoutRelay } from "./sendersWithoutRelay.ts";

const LOOK_INTERVAL_MS = SECOND_MS;
/** Senders that the line names by id; `doctor` tells of more. */
const NAMED_MAX = 20;
const READ_MODEL = "senders";

interface SenderRelayWatchOptions {
  readonly deps: Pick<Dependencies, "senders">;
  readonly router: RelayRouter;
  readonly readers: Pick<Readers, "status" | "reader">;
  readonly onTrouble: (error: unknown) => void;
}

/** Logs once, as soon as the read model has caught up, which verified senders have no relay. */
export function senderRelayWatch(
  logger: Pick<Logger, "warn">,
  { deps, router, readers, onTrouble }: SenderRelayWatchOptions,
): PeriodicWorker {
  let isDone = router.isForAll;
  const round = async () => {
    if (isDone || readers.status().find(({ name }) => name === READ_MODEL)?.state !== "live") return;
    const { found } = await sendersWithoutRelay(deps, router, readers.reader(READ_MODEL));
    isDone = true;
    if (found.length === 0) return;
    const senderIds = found.slice(0, NAMED_MAX).map(({ id }) => id);
    logger.warn(
      { senders: found.length, senderIds },
      `verified senders have no relay (doctor names them): ${NO_RELAY_REMEDY}`,
    );
  };
  return periodicWorker({ round, intervalMs: LOOK_INTERVAL_MS, firstDelayMs: 0, onTrouble });
}
