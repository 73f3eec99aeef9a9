import { isUuid } from "../../../kernel/ids.ts";
import { type Address, parseAddress } from "../../../kernel/text/emailAddress.ts";
import { isObject } from "../../../kernel/text/json.ts";
import { asTransient, type BounceReason, bounceReason } from "./bounceReason.ts";
import type { FeedbackReport } from "./feedbackReport.ts";
import { reasonToSuppress } from "./suppressionRule.ts";

/** How a relay named a message when it took it. */
export interface SentAs {
  /** As in `relayId` of the message's events. */
  readonly relayId: string;
  /** The address that it was sent to, as the provider writes it. */
  readonly recipient: string;
}

/** What a provider's event says about one of our messages. */
export interface ProviderFeedback {
  /** Our id; null if the event names none. */
  readonly emailId: string | null;
  /** The provider's own name for it, which we may know from its answer; absent if the event has none. */
  readonly sentAs?: SentAs;
  /** Null if it says nothing about the outcome of the message. */
  readonly report: FeedbackReport | null;
  /** Whom the provider gives no more mail after a hard bounce or a complaint, as it writes the address; absent: nobody. */
  readonly deactivated?: string;
}

export type EventPart = Readonly<Record<string, unknown>>;

/** A member's text; "" if it is not a string. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A member that is an object; an empty one if it is none. */
export function objectOf(value: unknown): EventPart {
  return isObject(value) ? value : {};
}

/** A member that is a list; an empty one if it is none. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The id among what an event names a message by. If it names several, somebody has set one, and we believe none. */
export function onlyIdAmong(named: readonly string[]): string | null {
  const [id = null, ...others] = new Set(named.filter(isUuid).map((one) => one.toLowerCase()));
  return others.length === 0 ? id : null;
}

/** As much of a server's reply as the API takes. Less is kept, but its addresses are replaced first, which takes time. */
const DIAGNOSTIC_CHARACTERS_MAX = 4_000;

/** A server's reply without the type before it, as in `smtp; 550 5.1.1 unknown` (RFC 3464 §2.3.6). */
export function diagnosticOf(value: unknown): string {
  return textOf(value)
    .slice(0, DIAGNOSTIC_CHARACTERS_MAX)
    .replace(/^[\w.-]{1,40};\s*/, "");
}

/** A bounce that the provider calls permanent: the address's fault, unless the server's reply gives another reason. */
export function asPermanent(read: BounceReason): BounceReason {
  return read.reason === "recipient_refused"
    ? { ...read, kind: "hard", reason: "recipient_address_rejected" }
    : read;
}

/** A bounce that the provider puts down to us or to what we sent, unless the server's reply gives another reason. */
export function asPolicy(read: BounceReason): BounceReason {
  const reason = read.reason === "recipient_refused" ? "policy_rejected" : read.reason;
  return { ...read, kind: "policy", reason };
}

/** A message that the provider did not try to deliver, because it suppresses the address itself. */
export function notTried(diagnostic: string): FeedbackReport {
  return { kind: "bounced", bounce: { kind: "soft", reason: "relay_suppressed" }, diagnostic };
}

/** A message that the provider took and then did not send, because of a quota for example: nothing about the address. */
export function refusedByRelay(diagnostic: string): FeedbackReport {
  return { kind: "bounced", bounce: { kind: "policy", reason: "relay_refused" }, diagnostic };
}

/** Amazon SES suppresses the address itself and did not try: this says nothing new about the address. */
const NOT_TRIED = new Set(["Suppressed", "OnAccountSuppressionList"]);

/** A bounce in the words of Amazon SES, which Resend uses too. */
interface SesBounce {
  readonly type: unknown;
  readonly subType: unknown;
  /** Of the recipient's server; "" if it gave none. */
  readonly status: string;
  readonly diagnostic: string;
  /** Whether the event says otherwise than by its type and the server's reply that delivery failed. */
  readonly isFailed: boolean;
}

/** Reads a bounce in the words of Amazon SES; null if it is none. */
export function bounceInSesWords({
  type,
  subType,
  status,
  diagnostic,
  isFailed,
}: SesBounce): FeedbackReport | null {
  if (NOT_TRIED.has(textOf(subType))) return notTried(diagnostic);
  // SES reports out-of-office replies as transient bounces, without any server's reply.
  if (type !== "Permanent" && !isFailed && diagnostic === "") return null;
  const read = bounceReason({ status, diagnostic });
  return {
    kind: "bounced",
    bounce: type === "Permanent" ? asPermanent(read) : asTransient(read),
    diagnostic,
  };
}

/** Whom to suppress because of an event about mail that was not sent from here, and why; null: nobody. */
export function unmatchedSuppression({
  report,
  deactivated = "",
}: ProviderFeedback): { readonly address: Address; readonly reason: "complaint" | "bounce" } | null {
  const reason = report && reasonToSuppress(report);
  const address = parseAddress(deactivated);
  return reason === null || "invalid" in address ? null : { address, reason };
}
