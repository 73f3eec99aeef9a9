import { createHmac } from "node:crypto";
import { Webhook } from "svix";
import { SECOND_MS } from "../../src/kernel/time.ts";
import type { CallerOptions } from "./service.ts";

/** As in Resend's own examples: 24 bytes. */
export const RESEND_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
export const MAILGUN_KEY = "0123456789abcdef0123456789abcdef";

/** The settings of a service that takes what these functions sign. */
export const REPORT_SECRETS = {
  RESEND_WEBHOOK_SECRET: RESEND_SECRET,
  MAILGUN_WEBHOOK_SIGNING_KEY: MAILGUN_KEY,
};

interface Signing {
  /** How long ago it was signed, in seconds. */
  readonly ageS?: number;
  readonly secret?: string;
}

interface SvixSigning extends Signing {
  readonly id?: string;
}

/** A call of Resend, signed by the library of Svix, which makes Resend's calls. */
export function resendCall(
  event: unknown,
  { id = `msg_${crypto.randomUUID()}`, ageS = 0, secret = RESEND_SECRET }: SvixSigning = {},
) {
  const body = typeof event === "string" ? event : JSON.stringify(event);
  const at = new Date(Date.now() - ageS * SECOND_MS);
  const headers = {
    authorization: null,
    "content-type": "application/json",
    "svix-id": id,
    "svix-timestamp": String(Math.floor(at.getTime() / SECOND_MS)),
    "svix-signature": new Webhook(secret).sign(id, at, body),
  };
  return { body, headers } satisfies CallerOptions;
}

interface MailgunSigning extends Signing {
  readonly token?: string;
}

/** A new token, of 50 characters. */
export function mailgunToken(): string {
  return crypto.getRandomValues(new Uint8Array(25)).toHex();
}

/** A call of Mailgun, signed as its manual says. */
export function mailgunCall(
  event: unknown,
  { ageS = 0, token = mailgunToken(), secret = MAILGUN_KEY }: MailgunSigning = {},
) {
  const timestamp = String(Math.floor(Date.now() / SECOND_MS) - ageS);
  const signature = createHmac("sha256", secret).update(`${timestamp}${token}`).digest("hex");
  return {
    body: JSON.stringify({ signature: { timestamp, token, signature }, "event-data": event }),
    headers: { authorization: null, "content-type": "application/json" },
  } satisfies CallerOptions;
}
