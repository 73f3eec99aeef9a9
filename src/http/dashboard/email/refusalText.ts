import { AT_END } from "../../../domain/email/contentErasure.ts";
import type { ShownEmail } from "../../email/redactEmail.ts";
import type { SendAgainOutcome } from "../../email/sendAgain.ts";
import { refusedFor } from "../../server/problem.ts";
import { SENDER_FAULTS } from "../sender/senderFaultAdvice.tsx";

/** Why a message cannot be sent again, as far as its history says; null if it can. */
export function whyNotAgain({ email, content }: Pick<ShownEmail, "email" | "content">): string | null {
  if (content === null) {
    const isAsked = email.erasedFor?.reason === AT_END;
    return `its content was erased${isAsked ? " when it had ended, as its send asked" : ""}`;
  }
  return email.attachmentsExpired ? "its files have expired" : null;
}

/** Why a message was not sent again, in words. */
export function refusalText(outcome: Exclude<SendAgainOutcome, { kind: "accepted" }>): string {
  switch (outcome.kind) {
    case "noContent":
      return "Its content was erased, or one of its files is gone.";
    case "conflict":
      return "The form was used already, for another recipient: load the page again.";
    case "refused":
      if (outcome.senderFault !== undefined)
        return `Its sender ${SENDER_FAULTS[outcome.senderFault]} under Senders.`;
      return `${outcome.detail ?? refusedFor(outcome.code, outcome.faults).message}.`;
  }
}
