import type { SendOutcome } from "../../commands/email/send/sendOutcome.ts";
import { DAY_MS, type EpochMs, SECOND_MS } from "../../kernel/time.ts";
import { Problem, refusedFor, tooManyRequests } from "../server/problem.ts";

/** Why a send that arrived at `at` was not accepted. */
export function sendProblem(outcome: Exclude<SendOutcome, { kind: "accepted" }>, at: EpochMs): Problem {
  if (outcome.kind === "conflict") {
    // It names the message: a repeat with its content would get the same id.
    const detail = `The Idempotency-Key was used with other content, for the message ${outcome.id}`;
    return new Problem("IDEMPOTENCY_CONFLICT", { detail, emailId: outcome.id });
  }
  const { code, faults, detail, isPermanent = false, retryAfterMs } = outcome;
  // The fixed times of other codes are in `problemCodes.ts`.
  if (code === "DAILY_LIMIT_REACHED") {
    const retryAfterSeconds = Math.ceil((DAY_MS - (at % DAY_MS)) / SECOND_MS);
    return new Problem(code, { retryAfterSeconds });
  }
  if (retryAfterMs !== undefined) return tooManyRequests(Math.ceil(retryAfterMs / SECOND_MS), detail);
  return detail === undefined ? refusedFor(code, faults) : new Problem(code, { detail, isPermanent });
}
