import {
  countDueOf,
  failingEndpoints,
  type LateEndpoint,
  lateEndpoints,
} from "../../../../projections/webhookDeliveries/queries.ts";
import { FAILING_RULE } from "../../../domain/webhook/failingRule.ts";
import { counted, listedUpTo } from "../../../kernel/text/readableNumbers.ts";
import { type EpochMs, HOUR_MS, MINUTE_MS, rfc3339 } from "../../../kernel/time.ts";
import { type ReadDatabase, unlessUnavailable } from "../../../ports/readDatabase.ts";
import { ageText } from "../ageText.ts";
import { type Check, ok, warning } from "./check.ts";

const NAME = "webhook endpoints";
/** `doctor` warns of an endpoint that has only failed for this long, and more than once or twice. */
const FAILING_MS_MIN = HOUR_MS;
const FAILURES_MIN = 3;
/** `doctor` warns of an endpoint that has a delivery due for this long. */
const LATE_MS_MIN = 15 * MINUTE_MS;
/** Counting of late endpoints, and of the due deliveries of each, stops here; more are shown as this many. */
const LATE_MAX = 100;
const DUE_MAX = 1_000;
/** Endpoints that `doctor` names; it counts as many more. */
const NAMED_MAX = 5;
const COUNTED_MAX = 1_000;

/**
 * Whether the calls to some endpoint all fail, or it is behind with them. None while the read model is unavailable, which
 * has a check of its own.
 */
export function webhookEndpointChecks(deliveries: () => ReadDatabase, now: EpochMs): readonly Check[] {
  return unlessUnavailable(() => [failingCheck(deliveries(), now), ...lateChecks(deliveries(), now)]) ?? [];
}

function failingCheck(deliveries: ReadDatabase, now: EpochMs): Check {
  const rule = { failuresMin: FAILURES_MIN, eventsMin: 1 };
  const before = rfc3339(now - FAILING_MS_MIN);
  const failing = failingEndpoints(deliveries, before, rule, COUNTED_MAX);
  if (failing.length === 0) return ok(NAME, "none has only failed for an hour");
  const detail = `${counted(failing.length, "endpoint")} got nothing for an hour: ${listedUpTo(NAMED_MAX, failing.map(nameOf))}`;
  const hours = FAILING_RULE.durationMs / HOUR_MS;
  return warning(
    NAME,
    detail,
    `an endpoint's page in the dashboard says why its calls fail; after ${hours} hours without success it is disabled`,
  );
}

/** Only if there is something to say. */
function lateChecks(deliveries: ReadDatabase, now: EpochMs): readonly Check[] {
  const late = lateEndpoints(deliveries, now - LATE_MS_MIN, LATE_MAX);
  if (late.length === 0) return [];
  const described = (one: LateEndpoint) => {
    const due = countDueOf(deliveries, one.endpointId, now, DUE_MAX);
    return `${nameOf(one)} (${due} due, the oldest for ${ageText(now - one.since)})`;
  };
  return [
    warning(
      "webhook backlogs",
      `deliveries of ${counted(late.length, "endpoint")} are late: ${listedUpTo(NAMED_MAX, late.map(described))}`,
      "each endpoint gets only a few calls at once: it should answer at once and do its work afterwards; its page in the dashboard shows its deliveries",
    ),
  ];
}

function nameOf({ endpointId, workspaceId }: Omit<LateEndpoint, "since">): string {
  return `${endpointId} of workspace ${workspaceId}`;
}
