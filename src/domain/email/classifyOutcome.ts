import { never } from "../../kernel/assert.ts";
import type { MailOutcome } from "../../kernel/mailOutcome.ts";

/** What an outcome means for the message, the recipient and the relay. */
export type Verdict =
  | { readonly kind: "sent"; readonly reply: string }
  | {
      readonly kind: "deferred";
      readonly reason: string;
      readonly attemptBurnt: boolean;
      readonly ambiguous: boolean;
      /** True when the relay is in trouble, whatever the message: counts towards the breaker. */
      readonly relayFault: boolean;
      readonly code?: number;
      readonly reply?: string;
    }
  | {
      readonly kind: "bounced";
      readonly reason: string;
      readonly code: number;
      readonly reply: string;
      readonly suppress: boolean;
      /** Added by who knows the recipient, where domains are to be kept. */
      readonly recipientDomain?: string;
    }
  | { readonly kind: "failed"; readonly reason: string; readonly code: number; readonly reply: string };

/** Answers to RCPT that say that the address itself is bad (RFC 3463 §3.2, RFC 7505 §4). */
const BAD_ADDRESS = new Set(["5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10"]);
/** Answers that refuse us or our sender, not the recipient (RFC 3463 §3.2, RFC 4954 §6). */
const REFUSES_SENDER = new Set(["5.1.7", "5.1.8"]);
const REFUSES_SENDER_CODES = new Set([530, 535]);
/** Answers that speak of the service as a whole (RFC 5321 §4.2.2, RFC 4954 §6). */
const RELAY_TROUBLE_CODES = new Set([421, 454]);

type Refused = Extract<MailOutcome, { kind: "refused" }>;

/** The enhanced status code (RFC 2034) that stands behind the reply code; "" when there is none. */
export function enhancedCode(reply: string): string {
  return /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(reply)?.[1] ?? "";
}

function refusedForNow({ stage, code, reply }: Refused): Verdict {
  const enhanced = enhancedCode(reply);
  // A greylisting server answers RCPT with 4.7.1: that is the recipient's side. What is said before a
  // recipient is named, 421, 454, 4.3.x (mail system) and throttling are about the relay.
  const relayFault =
    stage === "connect" ||
    stage === "mail" ||
    RELAY_TROUBLE_CODES.has(code) ||
    enhanced.startsWith("4.3.") ||
    /\bthrottl/i.test(reply);
  const reason = relayFault ? "relay_unavailable" : "recipient_deferred";
  return { kind: "deferred", reason, attemptBurnt: !relayFault, ambiguous: false, relayFault, code, reply };
}

function refusedForGood({ stage, code, reply }: Refused): Verdict {
  const enhanced = enhancedCode(reply);
  if (stage === "connect") {
    const reason = "relay_unavailable";
    return { kind: "deferred", reason, attemptBurnt: false, ambiguous: false, relayFault: true, code, reply };
  }
  const refusesSender =
    stage === "mail" ||
    REFUSES_SENDER_CODES.has(code) ||
    REFUSES_SENDER.has(enhanced) ||
    enhanced.startsWith("5.7.");
  if (refusesSender) return { kind: "failed", reason: "relay_refused", code, reply };
  const suppress = stage === "rcpt" && BAD_ADDRESS.has(enhanced);
  const reason = suppress ? "recipient_address_rejected" : "recipient_refused";
  return { kind: "bounced", reason, code, reply, suppress };
}

/** Reads the relay's facts (design: Delivery). Pure, and total over everything a relay can say. */
export function classifyOutcome(outcome: MailOutcome): Verdict {
  switch (outcome.kind) {
    case "accepted":
      return { kind: "sent", reply: outcome.reply };
    case "refused":
      return outcome.code < 500 ? refusedForNow(outcome) : refusedForGood(outcome);
    case "broken": {
      const fault = { attemptBurnt: false, ambiguous: false, relayFault: true };
      return { kind: "deferred", reason: "relay_unreachable", ...fault, reply: outcome.reason };
    }
    case "unknown": {
      const doubt = { attemptBurnt: true, ambiguous: true, relayFault: true };
      return { kind: "deferred", reason: "no_answer_to_final_dot", ...doubt, reply: outcome.reason };
    }
    case "outOfTime":
      return {
        kind: "deferred",
        reason: "out_of_time",
        attemptBurnt: false,
        ambiguous: false,
        relayFault: false,
      };
    default:
      return never(outcome);
  }
}
