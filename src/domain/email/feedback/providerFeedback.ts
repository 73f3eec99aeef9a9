import type { BounceReason } from "./bounceReason.ts";
import type { FeedbackReport } from "./feedbackReport.ts";

/** What a provider's event says about one of our messages. */
export interface ProviderFeedback {
  /** Our id; null if the event names none. */
  readonly emailId: string | null;
  /** Null if it says nothing about the outcome of the message. */
  readonly report: FeedbackReport | null;
}

/** A member's text; "" if it is not a string. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A server's reply without the type before it, as in `smtp; 550 5.1.1 unknown` (RFC 3464 §2.3.6). */
export function diagnosticOf(value: unknown): string {
  return textOf(value).replace(/^[\w.-]{1,40};\s*/, "");
}

/** A bounce that the provider calls permanent: the address's fault, unless the server's reply gives another reason. */
export function asPermanent(read: BounceReason): BounceReason {
  return read.reason === "recipient_refused"
    ? { ...read, kind: "hard", reason: "recipient_address_rejected" }
    : read;
}

/** A bounce that the provider calls temporary: it suppresses no address. */
export function asTransient(read: BounceReason): BounceReason {
  return read.kind === "hard" ? { ...read, kind: "soft" } : read;
}
