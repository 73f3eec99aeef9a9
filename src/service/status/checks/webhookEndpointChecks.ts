import { failingEndpoints } from "../../../../projections/webhookDeliveries/queries.ts";
import { FAILING_RULE } from "../../../domain/webhook/failingRule.ts";
import { counted, listedUpTo } from "../../../kernel/text/readableNumbers.ts";
import { type EpochMs, HOUR_MS, rfc3339 } from "../../../kernel/time.ts";
import { type ReadDatabase, unlessUnavailable } from "../../../ports/readDatabase.ts";
import { type Check, ok, warning } from "./check.ts";

const NAME = "webhook endpoints";
/** `doctor` warns of an endpoint that has only failed for this long, and more than once or twice. */
const FAILING_MS_MIN = HOUR_MS;
const FAILURES_MIN = 3;
/** Endpoints that `doctor` names; it counts as many more. */
const NAMED_MAX = 5;
const COUNTED_MAX = 1_000;

/** Whether the calls to some endpoint all fail. None while the read model is unavailable, which has a check of its own. */
export function webhookEndpointChecks(deliveries: () => ReadDatabase, now: EpochMs): readonly Check[] {
  const rule = { failuresMin: FAILURES_MIN, eventsMin: 1 };
  const before = rfc3339(now - FAILING_MS_MIN);
  const failing = unlessUnavailable(() => failingEndpoints(deliveries(), before, rule, COUNTED_MAX));
  if (failing === null) return [];
  if (failing.length === 0) return [ok(NAME, "none has only failed for an hour")];
  const each = failing.map((one) => `${one.endpointId} of workspace ${one.workspaceId}`);
  const detail = `${counted(failing.length, "endpoint")} got nothing for an hour: ${listedUpTo(NAMED_MAX, each)}`;
  const hours = FAILING_RULE.durationMs / HOUR_MS;
  return [
    warning(
      NAME,
      detail,
      `an endpoint's page in the dashboard says why its calls fail; after ${hours} hours without success it is disabled`,
    ),
  ];
}
