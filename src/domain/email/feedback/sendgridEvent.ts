import { emailIdOfMessageId } from "../messageId.ts";
import { bounceReason } from "./bounceReason.ts";
import type { FeedbackReport } from "./feedbackReport.ts";
import {
  asPermanent,
  asTransient,
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
const SUPPRESSED_THERE = new Set(["Bounced Address", "Unsubscribed Address", "Spam Reporting Address"]);

/** What SendGrid calls a failure that is the address's fault; "" in events of older webhooks. */
const OF_THE_ADDRESS = new Set(["Invalid Address", ""]);

/** A bounce is for good, a block is about this mail or for now. Older events do not say which. */
function bounceOf({ type, bounce_classification: called, status, reason }: EventPart): FeedbackReport {
  const diagnostic = diagnosticOf(reason);
  const read = bounceReason({ status: textOf(status), diagnostic });
  const isOfAddress = type === "bounce" && OF_THE_ADDRESS.has(textOf(called));
  const sure = isOfAddress ? asPermanent(read) : read;
  return { kind: "bounced", bounce: type === "blocked" ? asTransient(read) : sure, diagnostic };
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
      return SUPPRESSED_THERE.has(reason) ? notTried(reason) : refusedByRelay(reason);
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
