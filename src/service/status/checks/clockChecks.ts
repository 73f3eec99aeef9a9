import { type CreationTable, newestCreationTime } from "../../../../projections/newestCreationTime.ts";
import type { ReadModelName } from "../../../../projections/readModelName.ts";
import { type EpochMs, rfc3339 } from "../../../kernel/time.ts";
import { unlessUnavailable } from "../../../ports/readDatabase.ts";
import type { Readers } from "../../../readModels/readModelReaders.ts";
import { ageText } from "../ageText.ts";
import { type ClockJump, JUMP_MS_MIN } from "../clockWatch.ts";
import { type Check, warning } from "./check.ts";

const DATED_LISTS: readonly (readonly [readModel: ReadModelName, CreationTable])[] = [
  ["emails", "emails"],
  ["audit-log", "audit_log"],
];

/** The latest date of mail and of changes in the log; 0 if there is none, or while the read models are unavailable. */
export function latestDated(readers: Pick<Readers, "reader">): EpochMs {
  const latest = DATED_LISTS.map(([readModel, table]) =>
    unlessUnavailable(() => newestCreationTime(readers.reader(readModel), table)),
  );
  return Math.max(...latest.map((at) => at ?? 0));
}

interface SeenTimes {
  /** Events may be dated up to then. */
  readonly latest: EpochMs;
  readonly jumpAhead: ClockJump | null;
}

/** Only if there is something to say: the clock has jumped ahead, or events may be dated in the future. */
export function clockChecks({ latest, jumpAhead }: SeenTimes, now: EpochMs): readonly Check[] {
  if (jumpAhead !== null) return [jumpCheck(jumpAhead)];
  const aheadMs = latest - now;
  if (aheadMs <= JUMP_MS_MIN) return [];
  return [
    warning(
      "clock",
      `set back: events may be dated up to ${rfc3339(latest)}, ${ageText(aheadMs)} from now`,
      "check that the time is right now; what was scheduled by the later time waits until the clock reaches it again (docs/operations.md, When the clock is wrong)",
    ),
  ];
}

function jumpCheck({ at, byMs }: ClockJump): Check {
  return warning(
    "clock",
    `jumped ahead by ${ageText(byMs)} to ${rfc3339(at)}, or the machine was suspended`,
    "check that the time is right now; if it is not, set it right: by a clock that is ahead mail and keys expire too early, and scheduled mail goes out too early (docs/operations.md, When the clock is wrong)",
  );
}
