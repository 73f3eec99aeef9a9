import { createPublicKey, createVerify, type KeyObject } from "node:crypto";
import { nextTurn } from "../concurrency/sleep.ts";
import { wholeNumber } from "../text/wholeNumber.ts";
import { HOUR_MS } from "../time.ts";
import { isSignedRecently, type SignatureFinding } from "./webhookSignature.ts";

/** The public key of one of SendGrid's webhooks. */
export type SendgridKey = KeyObject;

/** What SendGrid signs, and the signature: any text, "" for a header that is not there. */
export interface SendgridSignature {
  /** In seconds. */
  readonly timestamp: string;
  readonly body: string;
  /** DER in base64. */
  readonly signature: string;
}

/** SendGrid repeats a call for 24 hours. Whether it then signs it anew is not documented, so old ones are accepted. */
const SIGNATURE_AGE_MS_MAX = 25 * HOUR_MS;

/** The lines around a key in a PEM file (RFC 7468), and line breaks. */
const PEM_LINES = /-----(?:BEGIN|END) PUBLIC KEY-----|\s/g;

/** The key as SendGrid shows it, or in PEM: SPKI in base64, of the curve P-256. Null if the text is not one. */
export function sendgridKeyOf(text: string): SendgridKey | null {
  try {
    const der = Buffer.from(Uint8Array.fromBase64(text.replace(PEM_LINES, "")));
    const key = createPublicKey({ key: der, format: "der", type: "spki" });
    const isWhole = key.export({ format: "der", type: "spki" }).equals(der);
    return isWhole && key.asymmetricKeyDetails?.namedCurve === "prime256v1" ? key : null;
  } catch {
    return null;
  }
}

/**
 * Tells whether a call is signed with the private part of one of the keys: ECDSA with SHA-256 over the timestamp and the
 * body (twilio.com/docs/sendgrid, "Getting Started with the Event Webhook Security Features"). `now`: in ms. Anybody may
 * have sent the body, which each key hashes, so it checks one key a turn of the event loop, and first the key that was
 * right the last time.
 */
export function sendgridSignatureCheck(keys: readonly SendgridKey[]) {
  let latest: SendgridKey | null = null;
  return async (
    { timestamp, body, signature }: SendgridSignature,
    now: number,
  ): Promise<SignatureFinding> => {
    const seconds = wholeNumber(timestamp);
    if (seconds === null || signature === "") return "forged";
    if (!isSignedRecently(seconds, SIGNATURE_AGE_MS_MAX, now)) return "outdated";
    for (const key of keys.toSorted((a, b) => Number(b === latest) - Number(a === latest))) {
      await nextTurn();
      if (!createVerify("sha256").update(timestamp).update(body).verify(key, signature, "base64")) continue;
      latest = key;
      return "valid";
    }
    return "forged";
  };
}
