import { refusedFor } from "../../server/problem.ts";
import type { SendAgainOutcome } from "./sendAgain.ts";

/** Why a message was not sent again, in words. */
export function refusalText(outcome: Exclude<SendAgainOutcome, { kind: "accepted" }>): string {
  switch (outcome.kind) {
    case "noContent":
      return "Its content was erased, or one of its files is gone.";
    case "conflict":
      return "The form was used already, for another recipient: load the page again.";
    case "refused":
      return `${outcome.detail ?? refusedFor(outcome.code, outcome.faults).message}.`;
  }
}
