import { Type } from "@sinclair/typebox";
import { invalid, type Problem, refusedFor } from "../server/problem.ts";

/** A key as the reference describes it; {@link checkedIdempotencyKey} checks it. */
export const IdempotencyKey = Type.String({
  pattern: "^[ -~]{8,200}$",
  description:
    "8 to 200 printable ASCII characters, no comma followed by a space among them: that is how a header sent twice reads. One key, one message, for as long as the log exists.",
  examples: ["order-1042"],
});

export const IdempotencyKeyHeader = Type.Object({ "Idempotency-Key": IdempotencyKey });

/** The separator between values of a repeated header. */
const BETWEEN_VALUES = ", ";

const HEADER = "/Idempotency-Key";

export function idempotencyKeyOf(headers: Headers): string {
  return checkedIdempotencyKey(headers.get("idempotency-key"));
}

/** Refuses one key for a whole batch: its sender believes that it works. */
export function refuseIdempotencyKey(headers: Headers): void {
  if (headers.has("idempotency-key"))
    throw invalid(HEADER, "is not taken with a batch: give each send its own idempotency_key");
}

/**
 * 8 to 200 characters of 0x20 to 0x7E after trimming. A key with a comma and a space cannot be told from two headers,
 * and a key that something on the way extends would make every retry another message.
 */
export function checkedIdempotencyKey(given: unknown, pointer = HEADER): string {
  if (typeof given !== "string") {
    const message = "is required: 8 to 200 printable ASCII characters, another one for each message";
    throw refused(message, pointer);
  }
  const key = trimmedKey(given);
  if (key.includes(BETWEEN_VALUES)) {
    throw refused("must be sent once, and hold no comma followed by a space", pointer);
  }
  if (!/^[\x20-\x7e]*$/.test(key)) throw refused("must hold printable ASCII characters only", pointer);
  if (key.length < 8 || key.length > 200)
    throw refused(`must have 8 to 200 characters, not ${key.length}`, pointer);
  return key;
}

/**
 * A key without the spaces and tabs around it, which a header loses too. `trim` alone would also remove a no-break space
 * or a line break.
 */
export function trimmedKey(given: string): string {
  return /^[\t\x20-\x7e]*$/.test(given) ? given.trim() : given;
}

function refused(message: string, pointer: string): Problem {
  return refusedFor("IDEMPOTENCY_KEY_REQUIRED", [{ pointer, message }]);
}
