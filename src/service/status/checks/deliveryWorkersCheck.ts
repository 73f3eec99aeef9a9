import type { RelayFault } from "../../../kernel/outcome/mailOutcome.ts";
import { counted } from "../../../kernel/text/readableNumbers.ts";
import { MINUTE_MS, rfc3339 } from "../../../kernel/time.ts";
import type { MailDeliveryWorker } from "../../../reactors/email/mailDeliveryWorker.ts";
import type { Config } from "../../config/config.ts";
import { refusalRemedy, relayTrouble } from "../../logLines/relayLogLines.ts";
import { ageText } from "../ageText.ts";
import { type Check, failed, ok, warning } from "./check.ts";

const NAME = "delivery workers";
/** Greylisting ends before. */
const DEFERRALS_MS_MAX = 15 * MINUTE_MS;

interface DeliveryFacts {
  readonly config: Pick<Config, "deliveryEnabled">;
  readonly delivery: Pick<MailDeliveryWorker, "relayFault" | "relayFaultMs" | "recentRefusals">;
  readonly deliveriesInFlight: number;
  /** The messages that are due; null if nobody knows. */
  readonly due: number | null;
}

/** What the deliveries of a running service have found. */
export function deliveryWorkersCheck({ config, delivery, deliveriesInFlight, due }: DeliveryFacts): Check {
  if (!config.deliveryEnabled) {
    return warning(NAME, "off: mail is accepted and not delivered here", "set DELIVERY=on where it is to be");
  }
  const dueText = due === null ? "messages due unknown" : `${counted(due, "message")} due`;
  const detail = `${counted(deliveriesInFlight, "delivery", "deliveries")} under way, ${dueText}`;
  const { relayFault: fault, recentRefusals: refusals } = delivery;
  if (fault !== null) return relayFaultCheck(detail, fault, delivery.relayFaultMs);
  if (refusals === null) return ok(NAME, detail);
  const { failed, last, lastAt } = refusals;
  const refused = `the relay refused mail for good: ${last.reason}, ${last.code}`;
  const text = `${detail}; ${refused} (${counted(failed, "message")}, last at ${rfc3339(lastAt)})`;
  return warning(NAME, text, refusalRemedy(last));
}

/** A relay that greets us may still accept no message, so what to do is said here, too. */
function relayFaultCheck(detail: string, { trouble, reason }: RelayFault, forMs: number): Check {
  const { what, remedy } = relayTrouble(trouble);
  // The relay's own check passes all the same, and nothing else would fail.
  const isFailed = trouble === "unconfirmed" || (trouble === "defers_everybody" && forMs >= DEFERRALS_MS_MAX);
  const tell = isFailed ? failed : warning;
  return tell(
    NAME,
    `${detail}; ${what} (${reason}, for ${ageText(forMs)})`,
    `${remedy}; mail waits and is retried`,
  );
}
