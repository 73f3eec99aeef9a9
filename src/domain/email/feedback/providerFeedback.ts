import type { BounceReason } from "./bounceReason.ts";

/** What a provider's event says of a message of ours. */
export interface ProviderFeedback {
  /** Our id; null where the event names none. */
  readonly emailId: string | null;
  /** Null when it says nothing about the end of the message. */
  readonly report:
    | { readonly kind: "delivered" }
    | { readonly kind: "complained"; readonly feedbackType: string }
    | { readonly kind: "bounced"; readonly bounce: BounceReason; readonly diagnostic: string }
    | null;
}

/** The text of a member; "" for what is none. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A server's answer without the type that a report puts before it, as in `smtp; 550 5.1.1 unknown` (RFC 3464 §2.3.6). */
export function diagnosticOf(value: unknown): string {
  return textOf(value).replace(/^[\w.-]{1,40};\s*/, "");
}

/** A bounce that the provider calls permanent: the address is at fault, unless the server's answer gives another reason. */
export function asPermanent(read: BounceReason): BounceReason {
  return read.reason === "recipient_refused"
    ? { ...read, kind: "hard", reason: "recipient_address_rejected" }
    : read;
}

/** A bounce that passes, as the provider says: no address is suppressed for it. */
export function asTransient(read: BounceReason): BounceReason {
  return read.kind === "hard" ? { ...read, kind: "soft" } : read;
}
