import { createHmac } from "node:crypto";
import { wholeNumber } from "../text/wholeNumber.ts";
import { HOUR_MS } from "../time.ts";
import { equalInConstantTime } from "./equalInConstantTime.ts";
import { isSignedRecently, type SignatureFinding } from "./webhookSignature.ts";

/** How Mailgun signs a call. The signature does not cover the event beside it. */
export interface MailgunSignature {
  /** In seconds. */
  readonly timestamp: string;
  /** Random, a new one for each call. */
  readonly token: string;
  /** In hexadecimal digits. */
  readonly signature: string;
}

/** Mailgun repeats a call for eight hours. Whether it then signs it anew is not documented, so old ones are accepted. */
export const MAILGUN_SIGNATURE_AGE_MS_MAX = 9 * HOUR_MS;
/** Mailgun's tokens have 50 characters. A longer one costs time for each key. */
const TOKEN_CHARACTERS_MAX = 200;

/**
 * Whether a call is signed with one of the keys: HMAC-SHA-256 over the timestamp and the token (Mailgun's user manual,
 * "Securing webhooks"; `VerifyWebhookSignature` in github.com/mailgun/mailgun-go). `now`: in ms.
 */
export function checkMailgunSignature(
  keys: readonly string[],
  { timestamp, token, signature }: MailgunSignature,
  now: number,
): SignatureFinding {
  const seconds = wholeNumber(timestamp);
  if (seconds === null || token === "" || token.length > TOKEN_CHARACTERS_MAX) return "forged";
  const given = signature.toLowerCase();
  const isSigned = keys.some((key) => {
    const right = createHmac("sha256", key)
      .update(timestamp + token)
      .digest("hex");
    return equalInConstantTime(given, right);
  });
  if (!isSigned) return "forged";
  return isSignedRecently(seconds, MAILGUN_SIGNATURE_AGE_MS_MAX, now) ? "valid" : "outdated";
}
