import type { MailStage } from "../../../kernel/outcome/mailOutcome.ts";
import { RELAY_REPLY_READINGS, type RefusalReason } from "../smtpReplyRules.ts";
import type { Email, EmailStatus } from "../state.ts";
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

/** How a message can end although an earlier attempt, whose outcome nobody knows, may have delivered it. */
const ENDED_OTHERWISE: ReadonlySet<EmailStatus> = new Set(["bounced", "failed", "canceled"]);

/** Whether a report that changes no status may still be about a copy that an attempt with an unknown outcome delivered. */
export function mayConcernUnknownAttempt({
  status,
  ambiguous,
}: Pick<Email, "status" | "ambiguous">): boolean {
  return ambiguous && ENDED_OTHERWISE.has(status);
}

/** Whether a relay's permanent refusal suppresses the recipient: only at RCPT is it certainly about the recipient. */
export function suppressesRecipient(stage: MailStage, reason: RefusalReason): boolean {
  return stage === "rcpt" && RELAY_REPLY_READINGS[reason].permanent === "suppress";
}
