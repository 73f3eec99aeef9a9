import { never } from "../../../kernel/assert.ts";
import { LOG_IN_CODES, type MailOutcome, RELAY_TROUBLE_CODES } from "../../../kernel/outcome/mailOutcome.ts";
import { suppressesRecipient } from "../feedback/suppressionRule.ts";
import {
  enhancedCode,
  isAboutCommand,
  isTooManyRecipients,
  maySayNoLogin,
  RELAY_REPLY_READINGS,
  type RefusalReason,
  reasonOfReply,
} from "./smtpReplyRules.ts";

/** What an outcome means for the message, the recipient and the relay. */
export type AttemptResult =
  | { readonly kind: "sent"; readonly reply: string }
  | {
      readonly kind: "deferred";
      readonly reason: string;
      readonly attemptBurnt: boolean;
      readonly ambiguous: boolean;
      /** The relay would fail for any message: counts towards the circuit breaker. */
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
      /** Set by the caller, if recipients' domains are kept. */
      readonly recipientDomain?: string;
    }
  | { readonly kind: "failed"; readonly reason: string; readonly code: number; readonly reply: string };

type Refused = Extract<MailOutcome, { kind: "refused" }>;

function deferred({ code, reply }: Refused, reason: RefusalReason, relayFault: boolean): AttemptResult {
  return { kind: "deferred", reason, attemptBurnt: !relayFault, ambiguous: false, relayFault, code, reply };
}

/** Whether the relay's reply is what one says that accepts nothing before a log-in. */
function isUnusedLoginWanted({ stage, code, reply, mayWantLogin }: Refused): boolean {
  return mayWantLogin === true && (stage === "mail" || stage === "rcpt") && maySayNoLogin(code, reply);
}

/** The reason that the reply gives; null if none. */
function knownReason(refused: Refused): RefusalReason | null {
  if (isUnusedLoginWanted(refused)) return "authentication_required";
  return reasonOfReply(refused.code, refused.reply);
}

function refusedForNow(refused: Refused): AttemptResult {
  const { stage, code, reply } = refused;
  const known = knownReason(refused);
  // A greylisting server answers RCPT with 4.7.1: that is the recipient's side. Replies before RCPT, and 421, 454 and
  // 4.3.x (mail system) at any stage, are about the relay.
  const isRelays =
    stage === "connect" ||
    stage === "mail" ||
    RELAY_TROUBLE_CODES.includes(code) ||
    enhancedCode(reply).startsWith("4.3.");
  const isKnownRelays = known !== null && RELAY_REPLY_READINGS[known].transient === "relayFault";
  if (isRelays && !isKnownRelays) return deferred(refused, "relay_unavailable", true);
  return deferred(refused, known ?? "recipient_deferred", isKnownRelays);
}

/**
 * Whether the relay accepts nothing until we log in. From RCPT on, words alone may be about the recipient: some groups
 * accept mail only from their own members.
 */
function isLoginWanted(refused: Refused, reason: RefusalReason): boolean {
  if (reason !== "authentication_required") return false;
  return refused.stage === "mail" || LOG_IN_CODES.includes(refused.code) || isUnusedLoginWanted(refused);
}

/** The reason of a permanent refusal. The reply to the final dot is about the message: no command precedes it. */
function permanentReason(refused: Refused): RefusalReason {
  const { stage, code, reply } = refused;
  const isCommands = stage !== "final" && isAboutCommand(code, reply);
  return knownReason(refused) ?? (isCommands ? "relay_unavailable" : "recipient_refused");
}

function isTemporary({ code, reply }: Refused): boolean {
  return code < 500 || isTooManyRecipients(code, reply);
}

function refusedForGood(refused: Refused): AttemptResult {
  const { stage, code, reply } = refused;
  if (stage === "connect") return deferred(refused, "relay_unavailable", true);
  const reason = permanentReason(refused);
  const { permanent } = RELAY_REPLY_READINGS[reason];
  if (permanent === "relayFault" || isLoginWanted(refused, reason)) return deferred(refused, reason, true);
  // Before RCPT, no reply is about the recipient. The size may be refused there or later (RFC 1870 §6), with one meaning.
  const isAboutUs =
    (stage === "mail" && reason !== "message_too_large") ||
    permanent === "failed" ||
    (permanent === "byCode" && enhancedCode(reply).startsWith("5.7."));
  if (isAboutUs) {
    const isAboutRecipient = permanent === "bounced" || permanent === "suppress";
    return { kind: "failed", reason: isAboutRecipient ? "relay_refused" : reason, code, reply };
  }
  return { kind: "bounced", reason, code, reply, suppress: suppressesRecipient(stage, reason) };
}

/** Classifies the outcome of an attempt. Pure, and total over everything that a relay can reply. */
export function classifyMailOutcome(outcome: MailOutcome): AttemptResult {
  switch (outcome.kind) {
    case "accepted":
      return { kind: "sent", reply: outcome.reply };
    case "refused":
      return isTemporary(outcome) ? refusedForNow(outcome) : refusedForGood(outcome);
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
