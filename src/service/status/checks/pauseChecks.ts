import { pausedWorkspaces } from "../../../../projections/auditLog/pausedWorkspaces.ts";
import { countedText, percentText } from "../../../domain/workspace/sendingRates.ts";
import { POSTLEDGER } from "../../../kernel/text/cliInvocation.ts";
import { counted, listedUpTo } from "../../../kernel/text/readableNumbers.ts";
import type { EpochMs } from "../../../kernel/time.ts";
import { type ReadDatabase, unlessUnavailable } from "../../../ports/readDatabase.ts";
import { type Check, ok, warning } from "./check.ts";

const NAME = "sending";
/** Workspaces that `doctor` names; it counts as many more. */
const NAMED_MAX = 20;
const COUNTED_MAX = 1_000;

/** How many workspaces are paused, counted up to `max`. */
export function countPausedWorkspaces(auditLog: ReadDatabase, _now: EpochMs, max: number): number {
  return pausedWorkspaces(auditLog, max).length;
}

/** Which workspaces are paused. None while the read model is unavailable, which has a check of its own. */
export function pauseChecks(auditLog: ReadDatabase): readonly Check[] {
  const paused = unlessUnavailable(() => pausedWorkspaces(auditLog, COUNTED_MAX));
  if (paused === null) return [];
  if (paused.length === 0) return [ok(NAME, "paused in no workspace")];
  const each = paused.map(({ id, name, since, rate }) => {
    const why = rate === null ? "" : ` (${rate.kind} rate ${percentText(rate)}, ${countedText(rate)})`;
    return `${name} (${id}) since ${since}${why}`;
  });
  const detail = `paused in ${counted(paused.length, "workspace")}: ${listedUpTo(NAMED_MAX, each)}`;
  const action = `\`${POSTLEDGER} workspace resume <id>\` lets it send again; until then it refuses new messages, and queued ones wait`;
  return [warning(NAME, detail, action)];
}
