import type { RelayFault } from "../../../kernel/outcome/mailOutcome.ts";
import { counted } from "../../../kernel/text/readableNumbers.ts";
import { type EpochMs, MINUTE_MS, rfc3339 } from "../../../kernel/time.ts";
import type { MailDeliveryWorker } from "../../../reactors/email/mailDeliveryWorker.ts";
import type { Config } from "../../config/config.ts";
import { refusalRemedy, relayTrouble } from "../../logLines/relayLogLines.ts";
import { ageText } from "../ageText.ts";
import { MESSAGES_DUE_MAX, type MessagesDue } from "../messagesDue.ts";
import { type Check, failed, ok, warning } from "./check.ts";

const NAME = "delivery workers";
/** Greylisting ends before. */
const DEFERRALS_MS_MAX = 15 * MINUTE_MS;

/** `doctor` warns of mail that has been due for this long. */
const LATE_MS_MIN = 15 * MINUTE_MS;
const LATE_REMEDY =
  "mail comes in faster than it goes out, or came all at once: more connections, or a higher rate, may help if the relay permits them (SMTP_CONNECTIONS_MAX, SMTP_MESSAGES_PER_SECOND_MAX)";

interface DeliveryFacts {
  readonly config: Pick<Config, "deliveryEnabled">;
  readonly delivery: Pick<MailDeliveryWorker, "relayFault" | "relayFaultMs" | "recentRefusals">;
  readonly deliveriesInFlight: number;
  /** Null if nobody knows. */
  readonly due: MessagesDue | null;
  readonly now: EpochMs;
}

/** What the deliveries of a running service have found. */
export function deliveryWorkersCheck(facts: DeliveryFacts): Check {
  const { config, delivery, deliveriesInFlight, due, now } = facts;
  if (!config.deliveryEnabled) {
    return warning(NAME, "off: mail is accepted and not delivered here", "set DELIVERY=on where it is to be");
  }
  const detail = `${counted(deliveriesInFlight, "delivery", "deliveries")} under way, ${dueText(due, now)}`;
  const { relayFault: fault, recentRefusals: refusals } = delivery;
  if (fault !== null) return relayFaultCheck(detail, fault, delivery.relayFaultMs);
  const isLate = due !== null && due.oldest !== null && now - due.oldest.since >= LATE_MS_MIN;
  if (refusals === null) return isLate ? warning(NAME, detail, LATE_REMEDY) : ok(NAME, detail);
  const { failed, last, lastAt } = refusals;
  const refused = `the relay refused mail for good: ${last.reason}, ${last.code}`;
  const text = `${detail}; ${refused} (${counted(failed, "message")}, last at ${rfc3339(lastAt)})`;
  return warning(NAME, text, refusalRemedy(last));
}

function dueText(due: MessagesDue | null, now: EpochMs): string {
  if (due === null) return "messages due unknown";
  const atLeast = due.count >= MESSAGES_DUE_MAX ? "at least " : "";
  const count = `${atLeast}${counted(due.count, "message")} due`;
  if (due.oldest === null) return count;
  const { since, workspaceId } = due.oldest;
  return `${count}, the oldest since ${rfc3339(since)} (${ageText(now - since)}), of workspace ${workspaceId}`;
}

/** A relay that greets us may still accept no message, so what to do is said here, too. */
function relayFaultCheck(detail: string, { trouble, reason, emailId }: RelayFault, forMs: number): Check {
  const { what, remedy } = relayTrouble(trouble);
  // The relay's own check passes all the same, and nothing else would fail.
  const isFailed = trouble === "unconfirmed" || (trouble === "defers_everybody" && forMs >= DEFERRALS_MS_MAX);
  const message = emailId === undefined ? "" : `, last message ${emailId}`;
  const tell = isFailed ? failed : warning;
  return tell(
    NAME,
    `${detail}; ${what} (${reason}, for ${ageText(forMs)}${message})`,
    `${remedy}; mail waits and is retried`,
  );
}
