import { type EpochMs, rfc3339 } from "../../../kernel/time.ts";
import { ageText } from "../ageText.ts";
import { JUMP_MS_MIN } from "../clockWatch.ts";
import { type Check, warning } from "./check.ts";

/** Only if there is something to say: events of the running service may be dated in the future. */
export function clockChecks(latestSeen: EpochMs, now: EpochMs): readonly Check[] {
  const aheadMs = latestSeen - now;
  if (aheadMs <= JUMP_MS_MIN) return [];
  return [
    warning(
      "clock",
      `set back since the start: the newest events may be dated up to ${rfc3339(latestSeen)}, ${ageText(aheadMs)} from now`,
      "check that the time is right now; what was scheduled by the later time waits until the clock reaches it again (docs/operations.md, When the clock is wrong)",
    ),
  ];
}
