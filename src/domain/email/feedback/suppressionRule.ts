import type { MailStage } from "../../../kernel/outcome/mailOutcome.ts";
import { RELAY_REPLY_READINGS, type RefusalReason } from "../smtpReplyRules.ts";
import type { BounceKind } from "./bounceReason.ts";

/** What is reported of a message after a relay has taken it, as far as it matters here. */
type Report =
  | { readonly kind: "delivered" | "complained" }
  | { readonly kind: "bounced"; readonly bounce: { readonly kind: BounceKind } };

/** Why a report suppresses the recipient: it is a complaint, or a bounce that is the address's fault; null: it does not. */
export function reasonToSuppress(report: Report): "complaint" | "bounce" | null {
  if (report.kind === "complained") return "complaint";
  return report.kind === "bounced" && report.bounce.kind === "hard" ? "bounce" : null;
}

/** Whether a relay's refusal for good suppresses the recipient: only at RCPT is it surely about that one. */
export function suppressesRecipient(stage: MailStage, reason: RefusalReason): boolean {
  return stage === "rcpt" && RELAY_REPLY_READINGS[reason].permanent === "suppress";
}
