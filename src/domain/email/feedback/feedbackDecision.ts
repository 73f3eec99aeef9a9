import { type Decision, decided } from "../../../kernel/event/decider.ts";
import { withErasure } from "../contentErasure.ts";
import type { RecordedReply } from "../delivery/encryptRelayReply.ts";
import type { EmailEvent } from "../events.ts";
import { type Email, type EmailState, isNews } from "../state.ts";

/** Who reports what happened to a message. The log stores these names, so they never change. */
export const FEEDBACK_SOURCES = [
  "return_path",
  "complaint_address",
  "ses",
  "postmark",
  "resend",
  "mailgun",
  "sendgrid",
  "api",
  "simulator",
] as const;
export type FeedbackSource = (typeof FEEDBACK_SOURCES)[number];

/** What happened to a message after a relay accepted it. */
export type Feedback =
  | { readonly kind: "delivered" }
  | { readonly kind: "complained"; readonly feedbackType: string }
  | ({
      readonly kind: "bounced";
      readonly reason: string;
      /** For usage; absent if unknown or not kept. */
      readonly recipientDomain?: string;
    } & RecordedReply);

/** `superseded`: the message's events already say as much or more, or the message never left. */
export type FeedbackOutcome = "recorded" | "superseded" | "notFound";

function feedbackEvent({ attempts: attempt }: Email, feedback: Feedback, source: FeedbackSource): EmailEvent {
  switch (feedback.kind) {
    case "delivered":
      return { type: "EmailDelivered", data: { attempt, source } };
    case "complained":
      return { type: "EmailComplained", data: { attempt, feedbackType: feedback.feedbackType, source } };
    case "bounced": {
      const { kind: _, ...facts } = feedback;
      return { type: "EmailBounced", data: { attempt, ...facts, source } };
    }
  }
}

/**
 * Records feedback on a message. A claimed message, or a deferred one whose delivery is unknown, ends with it: the relay
 * had it after all. One that ended otherwise although the relay may have it keeps its status. A repeat gives no
 * events.
 */
export function recordFeedback(
  state: EmailState,
  feedback: Feedback,
  source: FeedbackSource,
): Decision<FeedbackOutcome, EmailEvent> {
  if (state === null) return decided("notFound");
  if (!isNews(state, feedback)) return decided("superseded");
  return decided("recorded", ...withErasure(state, [feedbackEvent(state, feedback, source)]));
}
