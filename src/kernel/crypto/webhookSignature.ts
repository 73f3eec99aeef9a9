/** The prefix of a signing secret as its owner sees it; base64 follows. */
const SECRET_PREFIX = "whsec_";

/** A secret's text form (Standard Webhooks: `whsec_` and base64). */
export function webhookSecretText(secret: Uint8Array): string {
  return SECRET_PREFIX + Buffer.from(secret).toString("base64");
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
      return `v1,${hmac.digest("base64")}`;
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
