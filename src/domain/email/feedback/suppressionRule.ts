import type { MailStage } from "../../../kernel/outcome/mailOutcome.ts";
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

/** Whether a relay's permanent refusal suppresses the recipient: only at RCPT is it certainly about the recipient. */
export function suppressesRecipient(stage: MailStage, reason: RefusalReason): boolean {
  return stage === "rcpt" && RELAY_REPLY_READINGS[reason].permanent === "suppress";
}
