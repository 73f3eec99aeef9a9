import { equalInConstantTime } from "../../kernel/crypto/equalInConstantTime.ts";
import { sha256Of } from "../../kernel/crypto/sha256.ts";
import {
  decodeVerificationToken,
  encodeVerificationToken,
  type VerificationToken,
} from "../../kernel/crypto/verificationToken.ts";
import type { Dependencies } from "../dependencies.ts";

/** What the log keeps of a link's secret. */
export function secretHashOf(secret: string): string {
  return sha256Of(secret);
}

/** The token of one request. It is stored nowhere: the worker that mails it derives it again. */
export function verificationTokenOf(
  { keys }: Pick<Dependencies, "keys">,
  senderId: string,
  requestId: string,
) {
  return encodeVerificationToken({
    senderId,
    requestId,
    secret: keys.verificationSecret(senderId, requestId),
  });
}

/** Decodes a token that our keys have made; null for any other text, without a read of the store. */
export function openVerificationToken({ keys }: Dependencies, text: string): VerificationToken | null {
  const token = decodeVerificationToken(text);
  if (token === null) return null;
  const secret = keys.verificationSecret(token.senderId, token.requestId);
  return equalInConstantTime(secret, token.secret) ? token : null;
}
