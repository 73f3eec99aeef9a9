import { wholeNumber } from "../text/wholeNumber.ts";
import { MINUTE_MS, SECOND_MS } from "../time.ts";
import { equalInConstantTime } from "./equalInConstantTime.ts";

/** The prefix of a signing secret as its owner sees it; base64 follows. */
const SECRET_PREFIX = "whsec_";
/** The length of a secret, in bytes. The scheme says 24 to 64; a little shorter one is still not to be guessed. */
const SECRET_BYTES = { min: 16, max: 64 };
/** How many signatures of a received call are compared: a caller has one, and two while it changes its secret. */
const SIGNATURES_MAX = 10;
const SIGNATURE_PREFIX = "v1,";
/** How far the time of a call that comes to us may lie from our clock, either way. */
export const WEBHOOK_TIMESTAMP_TOLERANCE_S = 300;

/** A secret's text form (Standard Webhooks: `whsec_` and base64). */
export function webhookSecretText(secret: Uint8Array): string {
  return SECRET_PREFIX + Buffer.from(secret).toString("base64");
}

/** The bytes of a secret in its text form; null if the text is not one. */
export function webhookSecretBytes(text: string): Uint8Array | null {
  if (!text.startsWith(SECRET_PREFIX)) return null;
  try {
    const bytes = Uint8Array.fromBase64(text.slice(SECRET_PREFIX.length));
    return bytes.length >= SECRET_BYTES.min && bytes.length <= SECRET_BYTES.max ? bytes : null;
  } catch {
    return null;
  }
}

/** The signed content. The body is signed byte for byte as it is sent. */
interface SignedContent {
  readonly id: string;
  readonly timestampSeconds: number;
  readonly body: string;
}

/** The value of `webhook-signature` (Standard Webhooks, v1: HMAC-SHA-256), one signature for each secret. */
export function webhookSignature(secrets: readonly Uint8Array[], content: SignedContent): string {
  const { id, timestampSeconds, body } = content;
  return secrets
    .map((secret) => {
      const hmac = new Bun.CryptoHasher("sha256", secret).update(`${id}.${timestampSeconds}.${body}`);
      return SIGNATURE_PREFIX + hmac.digest("base64");
    })
    .join(" ");
}

/** The headers of a signed call (Standard Webhooks). */
export function webhookHeaders(
  secrets: readonly Uint8Array[],
  content: SignedContent,
): Record<string, string> {
  return {
    "webhook-id": content.id,
    "webhook-timestamp": String(content.timestampSeconds),
    "webhook-signature": webhookSignature(secrets, content),
  };
}

/** A call as it came, with what its headers say: any text, "" for a header that is not there. */
export interface ReceivedWebhookCall {
  readonly id: string;
  /** In seconds. */
  readonly timestamp: string;
  /** One or more signatures, one space apart. */
  readonly signature: string;
  readonly body: string;
}

/** How far ahead of ours a provider's clock may be. */
const AHEAD_MS_MAX = 5 * MINUTE_MS;

/** Whether a call whose time is `timestampSeconds` is at most `ageMsMax` old, by a clock that may be a little ahead. */
export function isSignedRecently(timestampSeconds: number, ageMsMax: number, now: number): boolean {
  const ageMs = now - timestampSeconds * SECOND_MS;
  return ageMs <= ageMsMax && ageMs >= -AHEAD_MS_MAX;
}

/** What a signature is found to be. `outdated`: its time is too far from now, whether it is right or not. */
export type SignatureFinding = "valid" | "outdated" | "forged";

/**
 * Whether a call is signed with one of the secrets (Standard Webhooks, which is also Svix's scheme). Its body, which
 * anybody may have sent, is read only if its headers fit. `now`: in ms.
 */
export function checkWebhookSignature(
  secrets: readonly Uint8Array[],
  { id, timestamp, signature, body }: ReceivedWebhookCall,
  now: number,
): SignatureFinding {
  const timestampSeconds = wholeNumber(timestamp);
  if (timestampSeconds === null || id === "") return "forged";
  const given = signature.split(" ").filter((one) => one.startsWith(SIGNATURE_PREFIX));
  if (given.length === 0 || given.length > SIGNATURES_MAX) return "forged";
  if (Math.abs(now / SECOND_MS - timestampSeconds) > WEBHOOK_TIMESTAMP_TOLERANCE_S) return "outdated";
  const isSigned = secrets.some((secret) => {
    const right = webhookSignature([secret], { id, timestampSeconds, body });
    return given.some((one) => equalInConstantTime(one, right));
  });
  return isSigned ? "valid" : "forged";
}
