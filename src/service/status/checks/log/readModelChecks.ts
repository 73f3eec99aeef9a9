import { UnreadableEventError } from "../../../../kernel/event/eventCodec.ts";
import { POSTLEDGER } from "../../../../kernel/text/cliInvocation.ts";
import { rfc3339, SECOND_MS } from "../../../../kernel/time.ts";
import type { BehindSince } from "../../../../readModels/behindSince.ts";
import type { Config } from "../../../config/config.ts";
import { readModelDirectory } from "../../../config/storeConfig.ts";
import { isOutOfRoom, MAKE_ROOM } from "../../../faults/isDiskFull.ts";
import { beingBuilt } from "../../readModelBuildProgress.ts";
import { type Check, failed, ok, warning } from "../check.ts";

/** What to do about a damaged catalog of the read models; the log itself is fine. */
export const DAMAGED_CATALOG_REMEDY = `start the service (again), or run \`${POSTLEDGER} projection rebuild\` while none runs: the read models are rebuilt from the log, which is not damaged`;

const UNREADABLE_REMEDY =
  "if no newer version has written it, the log is damaged: restore it from a backup. Then start the service again, and the read model goes on from there";

/** How SQLite and the operating system say that a disk is full. Where it stopped is told as text, without a code. */
const DISK_FULL = /disk is full|ENOSPC|EDQUOT/;
/** What they also say while it is. */
const DISK_FAULT = /disk I\/O error|unable to open database file/;

function isStoppedByFullDisk(failure: string, dataDir: string): boolean {
  return (
    DISK_FULL.test(failure) || (DISK_FAULT.test(failure) && isOutOfRoom(readModelDirectory({ dataDir })))
  );
}

export function stoppedReadModel(name: string, failure: string, { dataDir }: Pick<Config, "dataDir">): Check {
  const check = (action: string) => failed(`read model ${name}`, failure, action);
  if (failure.includes(UnreadableEventError.name)) return check(UNREADABLE_REMEDY);
  if (isStoppedByFullDisk(failure, dataDir)) return check(`${MAKE_ROOM}: then it goes on by itself`);
  return check(
    `start the service again; if that does not help, \`${POSTLEDGER} projection rebuild ${name}\``,
  );
}

/** `doctor` warns of this lag and more. A busy service may lag by less at any moment. */
const WARNED_LAG_MS = 10 * SECOND_MS;

/** Who brings a read model up to date. `firstRead`: the share of the log that it has read, if it was never at its head. */
interface Following {
  readonly firstRead: number | null;
}

/** How far a read model is behind the log. Null for `following`: no service runs that keeps it up to date. */
export function readModelLag(name: string, since: BehindSince, following: Following | null): Check {
  const check = `read model ${name}`;
  if (since === null) return ok(check, "at the head of the log");
  const lagMs = since === "unknown" ? Number.POSITIVE_INFINITY : Math.max(0, Date.now() - since);
  const detail =
    since === "unknown"
      ? "behind the log; how far cannot be read now"
      : `${(lagMs / SECOND_MS).toFixed(1)} s behind the log: it lacks what was written since ${rfc3339(since)}`;
  if (following === null || lagMs < WARNED_LAG_MS) return ok(check, detail);
  const { firstRead } = following;
  // The age of what it lacks says nothing of the time that the first reading takes.
  const shown = firstRead === null ? detail : beingBuilt(firstRead);
  return warning(check, shown, "wait: it catches up by itself; until then lists lack the newest");
}
