import { overdueErasures } from "../../../../projections/erasures.ts";
import { counted } from "../../../kernel/text/readableNumbers.ts";
import { type EpochMs, MINUTE_MS } from "../../../kernel/time.ts";
import { type ReadDatabase, unlessUnavailable } from "../../../ports/readDatabase.ts";
import { type Check, ok, warning } from "./check.ts";

const NAME = "erasures";
/** An erasure takes seconds, or minutes where much was sent to the person or EventStoreDB has to be scavenged. */
const OPEN_MS_MAX = 15 * MINUTE_MS;
const COUNTED_MAX = 1_000;

/** The log line of an erasure that met a fault; its reason says what is in the way. */
export const ERASURE_INTERRUPTED = "work on an erasure was interrupted";

/** How many requests to erase a person have been open for too long, counted up to `max`. */
export function countOverdueErasures(erasures: ReadDatabase, now: EpochMs, max: number): number {
  return overdueErasures(erasures, now - OPEN_MS_MAX, max).length;
}

/** Whether an erasure does not get done. None while the read model is unavailable, which has a check of its own. */
export function erasureChecks(erasures: ReadDatabase, now: EpochMs): readonly Check[] {
  const overdue = unlessUnavailable(() => overdueErasures(erasures, now - OPEN_MS_MAX, COUNTED_MAX));
  if (overdue === null) return [];
  const minutes = OPEN_MS_MAX / MINUTE_MS;
  const [oldest] = overdue;
  if (oldest === undefined) return [ok(NAME, `none has been open for ${minutes} minutes`)];
  const detail = `${counted(overdue.length, "request")} to erase a person open for more than ${minutes} minutes, the oldest since ${oldest.createdAt} (${oldest.id} of workspace ${oldest.workspaceId})`;
  const action = `the service's log lines "${ERASURE_INTERRUPTED}" say what is in the way: mend that, and the erasure goes on by itself`;
  return [warning(NAME, detail, action)];
}
