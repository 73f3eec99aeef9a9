import { emailIdOfMessageId } from "../messageId.ts";
import { asTransient, bounceReason } from "./bounceReason.ts";
import type { FeedbackReport } from "./feedbackReport.ts";
import {
  asPermanent,
  asPolicy,
  diagnosticOf,
  type EventPart,
  notTried,
  objectOf,
  onlyIdAmong,
  type ProviderFeedback,
  refusedByRelay,
  textOf,
} from "./providerFeedback.ts";

/** The unique argument that carries our id, which SendGrid puts among an event's own members. */
const ARGUMENT = "postledger_id";

/** Of a dropped message: SendGrid suppresses the address itself. Its other reasons are about the mail or the account. */
const SUPPRESSED_THERE = new Set([
  "bounced address",
  "unsubscribed address",
  "spam reporting address",
  "invalid",
]);

/** What SendGrid calls a failure that is the address's fault; "" in events of older webhooks. */
const OF_THE_ADDRESS = new Set(["invalid address", ""]);
/** And one that is about us, or about what we sent. */
const OF_POLICY = new Set(["reputation", "content", "frequency or volume too high"]);

/** A bounce is for good, a block is about this mail or for now. Older events do not say which. */
function bounceOf(event: EventPart): FeedbackReport {
  const { type, status, email } = event;
  const diagnostic = diagnosticOf(event.reason);
  const read = bounceReason({ status: textOf(status), diagnostic });
  const called = wordsOf(event.bounce_classification);
  const isOfAddress = type === "bounce" && OF_THE_ADDRESS.has(called);
  const known = isOfAddress ? asPermanent(read) : read;
  const sure = OF_POLICY.has(called) ? asPolicy(read) : known;
  const bounce = type === "blocked" ? asTransient(sure) : sure;
  return { kind: "bounced", bounce, diagnostic, failedRecipient: textOf(email) };
}

/** The words of a member that has one of a few values. */
function wordsOf(value: unknown): string {
  return textOf(value).trim().toLowerCase();
}

function reportOf(event: EventPart): FeedbackReport | null {
  switch (event.event) {
    case "delivered":
      return { kind: "delivered" };
    case "spamreport":
      return { kind: "complained", feedbackType: "abuse" };
    case "bounce":
      return bounceOf(event);
    case "dropped": {
      const reason = diagnosticOf(event.reason);
      return SUPPRESSED_THERE.has(wordsOf(event.reason)) ? notTried(reason) : refusedByRelay(reason);
    }
    default:
      // `deferred`: SendGrid still tries. What is processed, opened, clicked or unsubscribed from has not ended.
      return null;
  }
}

/**
 * Reads one event of a call of SendGrid's Event Webhook, by its documentation (twilio.com/docs/sendgrid, "Event Webhook
 * Reference" and "Bounce and Block Classifications"). Pure and total.
 *
 * `smtp-id` is the Message-ID of mail that came over SMTP, but not each event has it; a complaint has none.
 */
export function readSendgridEvent(given: unknown): ProviderFeedback {
  const event = objectOf(given);
  return {
    emailId: onlyIdAmong([textOf(event[ARGUMENT]), emailIdOfMessageId(textOf(event["smtp-id"])) ?? ""]),
    report: reportOf(event),
    deactivated: textOf(event.email),
  };
}
