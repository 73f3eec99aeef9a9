import type { BounceReason } from "./bounceReason.ts";

/** What is reported about a message after a relay accepted it. */
export type FeedbackReport =
  | { readonly kind: "delivered" }
  | { readonly kind: "complained"; readonly feedbackType: string }
  | {
      /** A server gave up. */
      readonly kind: "bounced";
      readonly bounce: BounceReason;
      /** The server's reply, "" if unknown. It may name people, so it is redacted and encrypted. */
      readonly diagnostic: string;
      /** Whom the server tried to deliver to, if that may be another address; "" if unknown. */
      readonly failedRecipient?: string;
    };
