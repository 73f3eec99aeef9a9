import { createHash } from "node:crypto";
import { checkedIdempotencyKey } from "../http/email/idempotencyKey.ts";
import type { Address } from "../kernel/text/emailAddress.ts";
import type { ParsedMail } from "../ports/submission/mailParser.ts";
import { fieldOf } from "./sendBody.ts";

/**
 * The Idempotency-Key of each recipient's message. A key that the mail names is used as it is where there is one
 * recipient, so that it can be looked up; else the key, or the Message-ID, and the recipient make one together. A mail
 * with neither is another one each time. Throws when the key that it names is none.
 */
export function recipientIdempotencyKeys(
  mail: ParsedMail,
  recipients: readonly Address[],
): readonly string[] {
  const given = fieldOf(mail, "x-idempotency-key");
  if (given !== null) {
    const key = checkedIdempotencyKey(given);
    return recipients.length === 1 ? [key] : recipients.map(keyFrom("key", key));
  }
  const messageId = fieldOf(mail, "message-id")?.trim() ?? "";
  return recipients.map(messageId === "" ? () => `smtp-${crypto.randomUUID()}` : keyFrom("id", messageId));
}

function keyFrom(kind: "key" | "id", value: string) {
  return ({ canonical }: Address) => {
    const digest = createHash("sha256").update(`${kind}\0${value}\0${canonical}`).digest("hex");
    return `smtp-${digest}`;
  };
}
