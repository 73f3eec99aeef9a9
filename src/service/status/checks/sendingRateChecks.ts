import type { Dependencies } from "../../../commands/dependencies.ts";
import { countedText, percentText, type RateKind } from "../../../domain/workspace/sendingRates.ts";
import { counted, firstOf } from "../../../kernel/text/readableNumbers.ts";
import type { SendingRateWatch } from "../../../reactors/workspace/sendingRateWatch.ts";
import type { Config } from "../../config/config.ts";
import { type Check, ok, warning } from "./check.ts";

const NAME = "bounce and complaint rates";
/** Rates that `doctor` names; it counts the others. */
const NAMED_MAX = 20;

const ACTION =
  "the overview of the workspace in the dashboard leads to these messages; docs/bounces-and-complaints.md says what lowers the rate, and how to have such workspaces paused";

/** How many workspaces have a high rate; null before the first look. */
export function countHighRates({ high }: Pick<SendingRateWatch, "high">, kind: RateKind): number | null {
  return high()?.filter((rate) => rate.kind === kind).length ?? null;
}

/** Which workspaces have a high bounce or complaint rate. None if all warnings are off. */
export async function sendingRateChecks(
  { sendingRates: { warning: thresholds } }: Pick<Config, "sendingRates">,
  { workspaces }: Pick<Dependencies, "workspaces">,
  { high }: Pick<SendingRateWatch, "high">,
): Promise<readonly Check[]> {
  if (thresholds.bounce + thresholds.complaint === 0) return [];
  const rates = high();
  if (rates === null) return [ok(NAME, "not looked at yet")];
  if (rates.length === 0) return [ok(NAME, "high in no workspace")];
  const { shown, others } = firstOf(NAMED_MAX, rates);
  const each = shown.map(async ({ workspaceId, ...rate }) => {
    // The id alone will do while the store does not answer, which has a check of its own.
    const workspace = await workspaces.get(workspaceId).catch(() => null);
    const name = workspace === null ? workspaceId : `${workspace.name} (${workspaceId})`;
    return `${name}: ${rate.kind} rate ${percentText(rate)}, ${countedText(rate)} in seven days`;
  });
  const listed = [...(await Promise.all(each)), ...(others === null ? [] : [others])].join("; ");
  return [warning(NAME, `${counted(rates.length, "high rate")}: ${listed}`, ACTION)];
}
