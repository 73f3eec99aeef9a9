import { LRUCache } from "lru-cache";
import { readSesEvent } from "../../../domain/email/feedback/sesEvent.ts";
import {
  isInRegionOf,
  isSnsCertificateUrl,
  isSnsSignatureValid,
  isSnsUrl,
  SNS_TYPES,
  type SnsMessage,
} from "../../../kernel/crypto/snsSignature.ts";
import { parseJson } from "../../../kernel/text/json.ts";
import type { EpochMs } from "../../../kernel/time.ts";
import type { SnsEndpoint } from "../../../ports/snsEndpoint.ts";
import { type FeedbackContext, recordEmailFeedback } from "./recordEmailFeedback.ts";

/** Amazon changes its certificate once a year or so; each says until when it holds. */
const CERTIFICATES_MAX = 10;
/** Certificates that are asked for at once: anybody may name one, and only a request shows whether it is there. */
const CERTIFICATES_ASKED_MAX = 5;

/** What notifications are checked with. */
export interface SesContext extends FeedbackContext {
  readonly sns: SnsEndpoint;
  /** The topics whose notifications are accepted; subscriptions of others are not confirmed. */
  readonly topicArns: ReadonlySet<string>;
}

/** Who brought a notification, and when. */
export interface SesOrigin {
  readonly at: EpochMs;
  readonly actor: string;
  readonly correlationId: string;
}

/**
 * `refused`: it is not of a topic of ours, or Amazon has not signed it. `unavailable`: Amazon's certificate, or the
 * confirmation, cannot be had now.
 */
export type SesOutcome = "taken" | "refused" | "unavailable";

/** The message as texts; null when it is none. */
function snsMessage(text: string): SnsMessage | null {
  const parsed = parseJson(text);
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return null;
  const texts = Object.entries(parsed).filter(([, value]) => typeof value === "string");
  return Object.fromEntries(texts) as SnsMessage;
}

/** Whether it is worth asking Amazon whether it has signed the message. */
function mayBeOurs({ Type = "", TopicArn = "", SigningCertURL = "" }: SnsMessage, ours: ReadonlySet<string>) {
  return (
    (SNS_TYPES as readonly string[]).includes(Type) &&
    ours.has(TopicArn) &&
    isSnsCertificateUrl(SigningCertURL) &&
    isInRegionOf(SigningCertURL, TopicArn)
  );
}

/** What the notification is about; undefined when Amazon writes to people: it does after a confirmation. */
function eventOf({ Message = "" }: SnsMessage): unknown {
  return parseJson(Message);
}

/** Makes the receiver of notifications of Amazon SES that come through Amazon SNS. */
export function sesNotifications(context: SesContext) {
  /**
   * Those that a message of ours was signed with. No other is kept, so that whoever names certificates without end neither
   * drives these out, nor is in the way of what is signed with them.
   */
  const proven = new LRUCache<string, string>({ max: CERTIFICATES_MAX });
  const asked = new Map<string, Promise<string | null>>();

  async function certificateOf(url: string): Promise<string | null> {
    const known = proven.get(url);
    if (known !== undefined) return known;
    const underWay = asked.get(url);
    if (underWay !== undefined) return underWay;
    if (asked.size >= CERTIFICATES_ASKED_MAX) return null;
    const asking = context.sns.get(url);
    asked.set(url, asking);
    try {
      return await asking;
    } finally {
      asked.delete(url);
    }
  }

  /** Records what SES reports. A message that we do not know is no fault: the topic may be about others as well. */
  async function record(event: unknown, origin: SesOrigin): Promise<void> {
    const { emailId, report } = readSesEvent(event);
    if (emailId === null || report === null) return;
    await recordEmailFeedback(context, emailId, report, { ...origin, source: "ses" });
  }

  async function confirm({ SubscribeURL = "" }: SnsMessage): Promise<SesOutcome> {
    if (!isSnsUrl(SubscribeURL)) return "refused";
    return (await context.sns.get(SubscribeURL)) === null ? "unavailable" : "taken";
  }

  /** Accepts a message as it was posted. A repeat changes nothing. Throws `StoreError`. */
  return async function take(text: string, origin: SesOrigin): Promise<SesOutcome> {
    const message = snsMessage(text);
    if (message === null || !mayBeOurs(message, context.topicArns)) return "refused";
    const { SigningCertURL = "" } = message;
    const certificate = await certificateOf(SigningCertURL);
    if (certificate === null) return "unavailable";
    if (!isSnsSignatureValid(message, certificate, origin.at)) return "refused";
    proven.set(SigningCertURL, certificate);
    if (message.Type === "SubscriptionConfirmation") return confirm(message);
    if (message.Type === "Notification") await record(eventOf(message), origin);
    return "taken";
  };
}
