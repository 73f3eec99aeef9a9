import { emailIdOfMessageId } from "../messageId.ts";
import { bounceReason } from "./bounceReason.ts";
import type { FeedbackReport } from "./feedbackReport.ts";
import {
  asPermanent,
  diagnosticOf,
  type EventPart,
  notTried,
  objectOf,
  onlyIdAmong,
  type ProviderFeedback,
  textOf,
} from "./providerFeedback.ts";

/** The name in `user-variables` that carries our id. */
const VARIABLE = "postledger_id";

/** Codes of SMTP replies. Mailgun has further ones of its own, from 600 on. */
const REPLY_CODES = { min: 400, max: 599 };

/** What the server said, with its code before it, which Mailgun mostly takes off. */
function saidBy({ code, message, description }: EventPart): string {
  const words = diagnosticOf(message) || diagnosticOf(description);
  const isReply = typeof code === "number" && code >= REPLY_CODES.min && code <= REPLY_CODES.max;
  return isReply && !words.includes(String(code)) ? `${code} ${words}`.trim() : words;
}

/** A failure for good. Only one that Mailgun calls hard is the address's fault without words of the server that say so. */
function failureOf(event: EventPart): FeedbackReport {
  const status = objectOf(event["delivery-status"]);
  const reason = textOf(event.reason);
  const diagnostic = saidBy(status);
  if (reason.startsWith("suppress-")) return notTried(diagnostic);
  const enhanced = textOf(status["enhanced-code"]) || textOf(status["bounce-code"]);
  const read = bounceReason({ status: enhanced, diagnostic });
  const called = textOf(status["bounce-type"]);
  const isHard = called === "hard" || (called === "" && reason === "bounce");
  return { kind: "bounced", bounce: isHard ? asPermanent(read) : read, diagnostic };
}

function reportOf(event: EventPart): FeedbackReport | null {
  switch (event.event) {
    case "delivered":
      return { kind: "delivered" };
    case "complained":
      return { kind: "complained", feedbackType: "abuse" };
    case "failed":
      // After a temporary failure Mailgun still tries.
      return event.severity === "permanent" ? failureOf(event) : null;
    default:
      return null;
  }
}

/**
 * Reads `event-data` of a webhook call of Mailgun, by its documentation (documentation.mailgun.com, "Webhook payloads";
 * github.com/mailgun/documentation, `source/api-events.rst` and "Attaching data to messages" in `source/user_manual.rst`)
 * and by the types in github.com/mailgun/mailgun-go, `events/`. Pure and total.
 *
 * The variable that we send in `X-Mailgun-Variables` comes back in `user-variables`. Events also have the Message-ID,
 * which names the message too if Mailgun keeps ours.
 */
export function readMailgunEvent(eventData: unknown): ProviderFeedback {
  const event = objectOf(eventData);
  const { headers } = objectOf(event.message);
  return {
    emailId: onlyIdAmong([
      textOf(objectOf(event["user-variables"])[VARIABLE]),
      emailIdOfMessageId(textOf(objectOf(headers)["message-id"])) ?? "",
    ]),
    report: reportOf(event),
    deactivated: textOf(event.recipient),
  };
}
