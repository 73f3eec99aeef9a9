import { Type } from "@sinclair/typebox";
import { type Problem, refusedFor } from "../server/problem.ts";

/** The header as the reference describes it; {@link idempotencyKeyOf} checks it. */
export const IdempotencyKeyHeader = Type.Object({
  "Idempotency-Key": Type.String({
    pattern: "^[ -~]{8,200}$",
    description:
      "8 to 200 printable ASCII characters, no comma followed by a space among them: that is how a header sent twice reads. One key, one message, for as long as the log exists.",
    examples: ["order-1042"],
  }),
});

/** What stands between the values of a header that was sent more than once. */
const BETWEEN_VALUES = ", ";

/** The key that a request names. */
export function idempotencyKeyOf(headers: Headers): string {
  const given = headers.get("idempotency-key");
  if (given === null)
    throw refused("is required: 8 to 200 printable ASCII characters, another one for each message");
  return checkedIdempotencyKey(given);
}

/**
 * 8 to 200 characters of 0x20 to 0x7E after trimming. Two headers cannot be told from one that holds
 * a comma and a space, and a key that somebody on the way added to would make every retry another message.
 */
export function checkedIdempotencyKey(given: string): string {
  const key = given.trim();
  if (key.includes(BETWEEN_VALUES)) {
    throw refused("must be sent once, and hold no comma followed by a space");
  }
  if (!/^[\x20-\x7e]*$/.test(key)) throw refused("must hold printable ASCII characters only");
  if (key.length < 8 || key.length > 200) throw refused(`must have 8 to 200 characters, not ${key.length}`);
  return key;
}

function refused(message: string): Problem {
  return refusedFor("IDEMPOTENCY_KEY_REQUIRED", [{ pointer: "/Idempotency-Key", message }]);
}
