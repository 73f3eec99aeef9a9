import { type FollowStatus, readFollowStatus } from "../../../../adapters/directory/followStatusFile.ts";
import { positionText } from "../../../../adapters/sqlite/logPosition.ts";
import type { InstanceState } from "../../../../domain/instance/state.ts";
import { settleWithin } from "../../../../kernel/concurrency/sleep.ts";
import { POSTLEDGER } from "../../../../kernel/text/cliInvocation.ts";
import { counted } from "../../../../kernel/text/readableNumbers.ts";
import { DAY_MS, epochMs, MINUTE_MS, SECOND_MS } from "../../../../kernel/time.ts";
import type { EventStore } from "../../../../ports/eventStore.ts";
import { behindSince } from "../../../../readModels/behindSince.ts";
import { eventsBetween, isEmbedded } from "../../../adapters/openStore.ts";
import type { Config } from "../../../config/config.ts";
import { ageText } from "../../ageText.ts";
import { type Check, ok, warning } from "../check.ts";

const NAME = "followed copy";
/** How long a follower may say nothing while the log goes on: a round may take as long as the time between two. */
const SILENT = { msMin: MINUTE_MS, rounds: 3 } as const;
/** The same for a copy that a timer brings up to date. */
const SILENT_ONCE_MS_MAX = DAY_MS;
/** How long to wait for a directory: one on a network volume that is away may never answer. */
const ANSWER_MS_MAX = 5 * SECOND_MS;

/** A log, and what it knows about its copies. */
interface FollowedLog {
  readonly config: Pick<Config, "storeUrl">;
  readonly store: EventStore;
  readonly instance: InstanceState;
}

/** For each copy that `backup follow` keeps, how far it is behind. One that cannot be read from here is no fault. */
export async function followedCopyChecks(log: FollowedLog): Promise<readonly Check[]> {
  const { config, instance } = log;
  if (instance === null || instance.frozenAt !== null || !isEmbedded(config)) return [];
  const places = instance.copies.flatMap(({ following, place }) =>
    following && place !== null ? [place] : [],
  );
  return Promise.all(places.map((place) => checkOf(log, instance.logId, place)));
}

async function checkOf(log: FollowedLog, logId: string, place: string): Promise<Check> {
  const reading = readFollowStatus(place).catch(() => null);
  const status = await settleWithin(ANSWER_MS_MAX, reading, () => null);
  if (status === null) return ok(NAME, `the copy in ${place} cannot be read from here`);
  if (status.logId !== logId) return ok(NAME, `${place} now holds a copy of another log`);
  return ageCheck(log, place, status);
}

/** What to do if an event of a copy is not as it is in the log. */
export function whichIsDamaged(place: string): string {
  return `\`${POSTLEDGER} backup verify ${place}\` checks the copy, \`${POSTLEDGER} audit verify\` the log; if the log is damaged, keep the copy; otherwise begin another copy in another directory`;
}

function silentMsMax({ everyMs = 0 }: FollowStatus): number {
  return everyMs === null ? SILENT_ONCE_MS_MAX : Math.max(SILENT.msMin, SILENT.rounds * everyMs);
}

async function ageCheck({ config, store }: FollowedLog, place: string, status: FollowStatus): Promise<Check> {
  const { at, events } = status;
  const position = positionText(events);
  const head = await store.head();
  const ahead = eventsBetween(config, head, position);
  if (ahead > 0)
    return warning(
      NAME,
      `the copy in ${place} holds ${counted(ahead, "event")} that the log lacks`,
      `keep that copy: \`${POSTLEDGER} backup restore\` brings back what the log has lost; follow the log as it is now in another directory`,
    );
  if (status.differsAt !== undefined)
    return warning(
      NAME,
      `event ${status.differsAt} is not the same in the copy in ${place} and in the log: one of them is damaged`,
      whichIsDamaged(place),
    );
  const behind = eventsBetween(config, position, head);
  if (behind === 0) return ok(NAME, `the copy in ${place} is current`);
  const since = await behindSince(store, {}, position);
  const behindMs = Math.max(0, Date.now() - (typeof since === "number" ? since : epochMs(at)));
  const detail = `the copy in ${place} is ${ageText(behindMs)} / ${counted(behind, "event")} behind`;
  const msMax = silentMsMax(status);
  const isSilent = Date.now() - epochMs(at) > msMax && behindMs > msMax;
  if (!isSilent) return ok(NAME, detail);
  const remedy = `start \`${POSTLEDGER} backup follow --out ${place}\` again, or see what it reports; if it is no longer needed, delete it`;
  return warning(NAME, detail, remedy);
}
