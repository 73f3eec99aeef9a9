import type { MailStage } from "../../../kernel/outcome/mailOutcome.ts";
import { type Address, domainOf, parseAddress } from "../../../kernel/text/emailAddress.ts";
import { RELAY_REPLY_READINGS, type RefusalReason } from "../delivery/smtpReplyRules.ts";
import type { BounceKind } from "./bounceReason.ts";

/** What is reported about a message after a relay accepted it, as far as it matters here. */
type Report =
  | { readonly kind: "delivered" | "complained" }
  | { readonly kind: "bounced"; readonly bounce: { readonly kind: BounceKind } };

/** Why a report suppresses the recipient: a complaint, or a bounce that is the address's fault. Null if it does not. */
export function reasonToSuppress(report: Report): "complaint" | "bounce" | null {
  if (report.kind === "complained") return "complaint";
  return report.kind === "bounced" && report.bounce.kind === "hard" ? "bounce" : null;
}

/**
 * Whether the recipient that a report names is another address than the one that was sent to. Servers rewrite that one
 * into an address at a host of its domain, or without what follows a `+`. No address (`unknown`, X.400) tells nothing.
 */
export function isAnotherAddress(reported: string, sentTo: string): boolean {
  const [one, other] = [parseAddress(reported), parseAddress(sentTo)];
  if ("invalid" in one || "invalid" in other) return false;
  return userOf(one) !== userOf(other) || !areRelated(domainOf(one.sent), domainOf(other.sent));
}

function userOf({ canonical }: Address): string {
  return canonical.replace(/[+@].*$/, "");
}

function areRelated(one: string, other: string): boolean {
  return one === other || one.endsWith(`.${other}`) || other.endsWith(`.${one}`);
}

/** Whether a relay's permanent refusal suppresses the recipient: only at RCPT is it certainly about the recipient. */
export function suppressesRecipient(stage: MailStage, reason: RefusalReason): boolean {
  return stage === "rcpt" && RELAY_REPLY_READINGS[reason].permanent === "suppress";
}
