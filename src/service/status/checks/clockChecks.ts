import { type CreationTable, newestCreationTime } from "../../../../projections/newestCreationTime.ts";
import type { ReadModelName } from "../../../../projections/readModelName.ts";
import { type EpochMs, rfc3339 } from "../../../kernel/time.ts";
import { unlessUnavailable } from "../../../ports/readDatabase.ts";
import type { Readers } from "../../../readModels/readModelReaders.ts";
import { ageText } from "../ageText.ts";
import { JUMP_MS_MIN } from "../clockWatch.ts";
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

/** Only if there is something to say: events may be dated in the future, up to `latest`. */
export function clockChecks(latest: EpochMs, now: EpochMs): readonly Check[] {
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
