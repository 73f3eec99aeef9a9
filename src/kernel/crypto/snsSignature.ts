import { createVerify, X509Certificate } from "node:crypto";

/** A message as posted by Amazon SNS. All members are strings. */
export type SnsMessage = Readonly<Record<string, string>>;

export const SNS_TYPES = ["Notification", "SubscriptionConfirmation", "UnsubscribeConfirmation"] as const;

/** The signed members in this order; Subject only if there is one. */
const SIGNED_OF_NOTIFICATION = ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"];
const SIGNED_OF_CONFIRMATION = [
  "Message",
  "MessageId",
  "SubscribeURL",
  "Timestamp",
  "Token",
  "TopicArn",
  "Type",
];
const ALGORITHMS: Readonly<Record<string, string>> = { "1": "RSA-SHA1", "2": "RSA-SHA256" };

/** Exactly Amazon's own hosts for SNS, because anybody may have a bucket below amazonaws.com. */
const HOST = /^sns\.[a-z]{2}(?:-[a-z]{2,12}){1,3}-\d{1,2}\.amazonaws\.com(?:\.cn)?$/;
const CERTIFICATE_PATH = /^\/SimpleNotificationService-[A-Za-z0-9]{1,100}\.pem$/;

/** Whether a URL leads to Amazon SNS over HTTPS. */
export function isSnsUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null) return false;
  const { protocol, hostname, port, username, password, hash } = url;
  return protocol === "https:" && HOST.test(hostname) && `${port}${username}${password}${hash}` === "";
}

/** Whether a URL is that of a certificate with which Amazon SNS signs. */
export function isSnsCertificateUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && isSnsUrl(text) && CERTIFICATE_PATH.test(url.pathname) && url.search === "";
}

/** Whether a URL belongs to Amazon SNS in the region of a topic (`arn:aws:sns:region:account:name`). */
export function isInRegionOf(text: string, topicArn: string): boolean {
  const [, , , region] = topicArn.split(":");
  const hostname = URL.parse(text)?.hostname ?? "";
  return hostname.replace(/\.cn$/, "") === `sns.${region}.amazonaws.com`;
}

/** The text that a message's signature covers: each member's name and value, each on its own line. */
export function snsSignedText(message: SnsMessage): string {
  const names = message.Type === "Notification" ? SIGNED_OF_NOTIFICATION : SIGNED_OF_CONFIRMATION;
  return names
    .filter((name) => message[name] !== undefined)
    .map((name) => `${name}\n${message[name]}\n`)
    .join("");
}

/** Whether the holder of the certificate (PEM), valid at `now`, has signed the message. */
export function isSnsSignatureValid(message: SnsMessage, certificate: string, now: number): boolean {
  const algorithm = ALGORITHMS[message.SignatureVersion ?? ""];
  if (algorithm === undefined) return false;
  try {
    const { publicKey, validFrom, validTo } = new X509Certificate(certificate);
    if (now < Date.parse(validFrom) || now > Date.parse(validTo)) return false;
    return createVerify(algorithm)
      .update(snsSignedText(message))
      .verify(publicKey, message.Signature ?? "", "base64");
  } catch {
    // A malformed certificate has signed nothing.
    return false;
  }
}
