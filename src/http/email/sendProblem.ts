import type { SendOutcome, SendRefusal } from "../../commands/email/send/sendOutcome.ts";
import { DAY_MS, type EpochMs, SECOND_MS } from "../../kernel/time.ts";
import { Problem, refusedFor } from "../server/problem.ts";

/** Why a send that arrived at `at` was not accepted. */
export function sendProblem(outcome: Exclude<SendOutcome, { kind: "accepted" }>, at: EpochMs): Problem {
  return outcome.kind === "conflict" ? conflictWith(outcome.id) : refusal(outcome, at);
}

/** It names the message: a repeat with its content would get the same id. */
function conflictWith(id: string): Problem {
  return new Problem("IDEMPOTENCY_CONFLICT", {
    detail: `The Idempotency-Key was used with other content, for the message ${id}`,
    emailId: id,
  });
}

/** Only the daily limit computes its Retry-After. The fixed ones of other codes are in `problemCodes.ts`. */
function refusal({ code, faults, detail }: SendRefusal, at: EpochMs): Problem {
  if (code === "DAILY_LIMIT_REACHED") {
    const retryAfterSeconds = Math.ceil((DAY_MS - (at % DAY_MS)) / SECOND_MS);
    return new Problem(code, { retryAfterSeconds });
  }
  return detail === undefined ? refusedFor(code, faults) : new Problem(code, { detail });
}
