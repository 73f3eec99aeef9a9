import { emailIdOfMessageId } from "../messageId.ts";
import type { FeedbackReport } from "./feedbackReport.ts";
import {
  bounceInSesWords,
  diagnosticOf,
  type EventPart,
  listOf,
  notTried,
  objectOf,
  type ProviderFeedback,
  refusedByRelay,
  textOf,
} from "./providerFeedback.ts";

/** What the recipient's server said: a list with one text for each recipient, and we send to one. */
function saidBy({ diagnosticCode }: EventPart): string {
  return diagnosticOf(listOf(diagnosticCode)[0]);
}

/** The subtypes of transient bounces that do not say what failed, such as `MailboxFull` does. */
const MAY_BE_REPLY = new Set(["General", ""]);

function reportOf(type: unknown, data: EventPart): FeedbackReport | null {
  switch (type) {
    case "email.delivered":
      return { kind: "delivered" };
    case "email.complained":
      return { kind: "complained", feedbackType: "abuse" };
    case "email.bounced": {
      const { type, subType, ...more } = objectOf(data.bounce);
      const isFailed = type !== "Transient" || !MAY_BE_REPLY.has(textOf(subType));
      return bounceInSesWords({ type, subType, status: "", diagnostic: saidBy(more), isFailed });
    }
    case "email.suppressed":
      return notTried(saidBy(objectOf(data.suppressed)));
    case "email.failed":
      return refusedByRelay(diagnosticOf(objectOf(data.failed).reason));
    default:
      // `email.delivery_delayed`: Resend still tries. What is sent, scheduled, opened or clicked has not ended.
      return null;
  }
}

/** An address that may stand in angle brackets behind a name. */
function bareAddress(value: unknown): string {
  const text = textOf(value).trim();
  return /<([^<>]{1,320})>$/.exec(text)?.[1] ?? text;
}

/**
 * Reads a webhook call of Resend, by the description of its webhooks in github.com/resend/resend-openapi (`resend.yaml`
 * at fd6f395f: `OutboundEmailEventData`, `WebhookEventBounce`, `WebhookEventSuppressed`, `WebhookEventFailed`). Pure and
 * total.
 *
 * `message_id` is the Message-ID of the mail that Resend sent. Whether that is ours for mail that came over SMTP is not
 * documented, nor whether the id in Resend's answer to us is `email_id`, so that both are read.
 */
export function readResendEvent(event: unknown): ProviderFeedback {
  const { type, data: given } = objectOf(event);
  const data = objectOf(given);
  const report = reportOf(type, data);
  const [recipient, ...others] = listOf(data.to).map(bareAddress);
  const emailId = emailIdOfMessageId(textOf(data.message_id));
  // With several recipients nobody knows whom the event is about, and we send to one.
  if (recipient === undefined || others.length > 0) return { emailId, report };
  const relayId = textOf(data.email_id);
  return {
    emailId,
    report,
    ...(relayId === "" ? {} : { sentAs: { relayId, recipient } }),
    deactivated: recipient,
  };
}
