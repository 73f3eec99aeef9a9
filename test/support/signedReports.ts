import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { Webhook } from "svix";
import { SECOND_MS } from "../../src/kernel/time.ts";
import type { CallerOptions } from "./service.ts";

/** As in Resend's own examples: 24 bytes. */
export const RESEND_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
export const MAILGUN_KEY = "0123456789abcdef0123456789abcdef";
/** As SendGrid makes one for each of its webhooks. */
export const SENDGRID_KEYS = sendgridKeys();

/** The settings of a service that takes what these functions sign. */
export const REPORT_SECRETS = {
  RESEND_WEBHOOK_SECRET: RESEND_SECRET,
  MAILGUN_WEBHOOK_SIGNING_KEY: MAILGUN_KEY,
  SENDGRID_VERIFICATION_KEY: SENDGRID_KEYS.shown,
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

/** A new pair of keys: the public one as SendGrid shows it. */
export function sendgridKeys(namedCurve = "prime256v1") {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve });
  return { privateKey, shown: publicKey.export({ format: "der", type: "spki" }).toString("base64") };
}

interface SendgridSigning extends Pick<Signing, "ageS"> {
  readonly privateKey?: KeyObject;
}

/** A call of SendGrid, signed as its documentation says, with an event a line. */
export function sendgridCall(
  events: unknown,
  { ageS = 0, privateKey = SENDGRID_KEYS.privateKey }: SendgridSigning = {},
) {
  const lines = Array.isArray(events)
    ? `[${events.map((one) => JSON.stringify(one)).join(",\r\n")}]\r\n`
    : null;
  const body = lines ?? (typeof events === "string" ? events : JSON.stringify(events));
  const timestamp = String(Math.floor(Date.now() / SECOND_MS) - ageS);
  const headers = {
    authorization: null,
    "content-type": "application/json",
    "x-twilio-email-event-webhook-timestamp": timestamp,
    "x-twilio-email-event-webhook-signature": sign(
      "sha256",
      Buffer.from(timestamp + body),
      privateKey,
    ).toString("base64"),
  };
  return { body, headers } satisfies CallerOptions;
}
