import { counted } from "../../../kernel/text/readableNumbers.ts";
import { type EpochMs, MINUTE_MS, rfc3339 } from "../../../kernel/time.ts";
import type { MailDeliveryWorker } from "../../../reactors/email/mailDeliveryWorker.ts";
import type { RelayGroupTrouble } from "../../../reactors/email/relayGroup.ts";
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
  readonly delivery: Pick<MailDeliveryWorker, "relayTroubles" | "relayGroupCount" | "recentRefusals">;
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
  const { relayTroubles, recentRefusals: refusals } = delivery;
  if (relayTroubles.length > 0) return relayTroubleCheck(detail, delivery);
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
function relayTroubleCheck(
  detail: string,
  { relayTroubles, relayGroupCount }: Pick<MailDeliveryWorker, "relayTroubles" | "relayGroupCount">,
): Check {
  const whats = relayTroubles.map((trouble) => {
    const { fault, forMs, relays } = trouble;
    const message = fault.emailId === undefined ? "" : `, last message ${fault.emailId}`;
    const which = relayGroupCount === 1 ? "" : `${relays.join(", ")}: `;
    const { what } = relayTrouble(fault.trouble);
    return `${which}${what} (${fault.reason}, for ${ageText(forMs)}${message})`;
  });
  const remedies = new Set(relayTroubles.map(({ fault }) => relayTrouble(fault.trouble).remedy));
  const tell = relayTroubles.some(isFailed) ? failed : warning;
  return tell(NAME, [detail, ...whats].join("; "), `${[...remedies].join("; ")}; mail waits and is retried`);
}

/** Whether nothing else would fail: the relay's own check passes all the same. */
function isFailed({ fault: { trouble }, forMs }: RelayGroupTrouble): boolean {
  return trouble === "unconfirmed" || (trouble === "defers_everybody" && forMs >= DEFERRALS_MS_MAX);
}
