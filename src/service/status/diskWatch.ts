import type { Logger } from "pino";
import type { Dependencies } from "../../commands/dependencies.ts";
import { hasDiskSpace } from "../../commands/storage/diskFullError.ts";
import { bytesText } from "../../kernel/text/readableNumbers.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import { type PeriodicWorker, periodicWorker } from "../../reactors/worker/periodicWorker.ts";

const LOOK_INTERVAL_MS = 5 * SECOND_MS;

/** Logs one line when the disk of DATA_DIR has too little free space, also at the start, and one when that is over. */
export function diskWatch(
  logger: Pick<Logger, "warn" | "info">,
  { disk, diskFreeBytesMin }: Pick<Dependencies, "disk" | "diskFreeBytesMin">,
): PeriodicWorker {
  let hadSpace = true;
  const look = async () => {
    const hasSpace = hasDiskSpace({ disk, diskFreeBytesMin });
    if (hasSpace === hadSpace) return;
    hadSpace = hasSpace;
    const space = { free: bytesText(disk.freeBytes()), minimum: bytesText(diskFreeBytesMin) };
    if (hasSpace) logger.info(space, "the disk of DATA_DIR has enough free space again");
    else
      logger.warn(
        space,
        "the disk of DATA_DIR has less free space than DISK_FREE_BYTES_MIN: sends get 503, and with less than half of it nothing is delivered. Make room",
      );
  };
  return periodicWorker({
    round: look,
    intervalMs: LOOK_INTERVAL_MS,
    firstDelayMs: 0,
    onTrouble: () => {},
  });
}
