import { LRUCache } from "lru-cache";
import type { FeedbackSource } from "../../../domain/email/feedback/feedbackDecision.ts";
import { readSesEvent } from "../../../domain/email/feedback/sesEvent.ts";
import {
  isInRegionOf,
  isSnsCertificateUrl,
  isSnsSignatureValid,
  isSnsUrl,
  SNS_TYPES,
  type SnsMessage,
} from "../../../kernel/crypto/snsSignature.ts";
import { isObject, parseJson } from "../../../kernel/text/json.ts";
import type { SnsEndpoint } from "../../../ports/snsEndpoint.ts";
import { type FeedbackContext, type FeedbackOrigin, recordEmailFeedback } from "./recordEmailFeedback.ts";
import { type ProviderReports, takeProviderReport } from "./takeProviderReport.ts";

/** Amazon changes its certificate about once a year; each states how long it is valid. */
const CERTIFICATES_MAX = 10;
/** Certificates requested at the same time: anybody may name one, and only a request shows whether it exists. */
const CERTIFICATES_ASKED_MAX = 5;

/** What checking and recording notifications needs. */
export interface SesContext extends FeedbackContext {
  readonly sns: SnsEndpoint;
  /** The topics whose notifications are accepted; subscriptions to others are not confirmed. */
  readonly topicArns: ReadonlySet<string>;
  /** Called for a report that is about no message of ours. */
  readonly onUnmatched: (source: FeedbackSource) => void;
}

/** Who delivered a notification, and when. */
type SesOrigin = Omit<FeedbackOrigin, "source" | "workspaceId">;

/**
 * `refused`: it is not from one of our topics, or Amazon did not sign it. `unavailable`: the request for Amazon's
 * certificate, or the one that confirms, cannot be made now or fails.
 */
export type SesOutcome = "taken" | "refused" | "unavailable";

/** The text members of an SNS message; null if `text` is not a JSON object. */
function snsMessage(text: string): SnsMessage | null {
  const parsed = parseJson(text);
  if (!isObject(parsed)) return null;
  const texts = Object.entries(parsed).filter(([, value]) => typeof value === "string");
  return Object.fromEntries(texts) as SnsMessage;
}

/** Whether the message is worth a request for Amazon's certificate. */
function mayBeOurs({ Type = "", TopicArn = "", SigningCertURL = "" }: SnsMessage, ours: ReadonlySet<string>) {
  return (
    (SNS_TYPES as readonly string[]).includes(Type) &&
    ours.has(TopicArn) &&
    isSnsCertificateUrl(SigningCertURL) &&
    isInRegionOf(SigningCertURL, TopicArn)
  );
}

/** The event in the notification; undefined if Amazon writes to people, as it does after a confirmation. */
function eventOf({ Message = "" }: SnsMessage): unknown {
  return parseJson(Message);
}

/** Makes the receiver of Amazon SES notifications that arrive through Amazon SNS. */
export function sesNotifications(context: SesContext) {
  /**
   * Certificates that have verified a message of one of our topics. No others are cached, so a caller who names endless
   * certificates cannot evict these or delay messages signed with them.
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

  /** Records what SES reports. Unknown messages are no error: the topic may cover other senders too. */
  async function record(event: unknown, origin: SesOrigin): Promise<void> {
    const source = "ses";
    const record: ProviderReports["record"] = (id, report) =>
      recordEmailFeedback(context, id, report, { ...origin, source });
    await takeProviderReport({ source, record, onUnmatched: context.onUnmatched }, readSesEvent(event));
  }

  async function confirm({ SubscribeURL = "" }: SnsMessage): Promise<SesOutcome> {
    if (!isSnsUrl(SubscribeURL)) return "refused";
    return (await context.sns.get(SubscribeURL)) === null ? "unavailable" : "taken";
  }

  /** Accepts an SNS message as it was posted. A repeat changes nothing. Throws `StoreError`. */
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
