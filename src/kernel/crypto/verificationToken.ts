import { isUuid, uuidOfHex } from "../ids.ts";

const ID_BYTES = 32;
const UUID_BYTES = 16;
const SECRET_BYTES = 32;

/** The content of a verification link: the sender, the request, and the secret that proves access to the mailbox. */
export interface VerificationToken {
  /** 64 characters of lower-case hex. */
  readonly senderId: string;
  /** A uuid in lower case. */
  readonly requestId: string;
  /** 32 bytes in lower-case hex. */
  readonly secret: string;
}

/** The token for a link: base64url of sender, request and secret, so that no index is needed. */
export function encodeVerificationToken({ senderId, requestId, secret }: VerificationToken): string {
  return Buffer.from(senderId + requestId.replaceAll("-", "") + secret, "hex").toString("base64url");
}

/** The inverse of {@link encodeVerificationToken}; null for any text that it would not have produced. */
export function decodeVerificationToken(text: string): VerificationToken | null {
  const bytes = Buffer.from(text, "base64url");
  if (bytes.length !== ID_BYTES + UUID_BYTES + SECRET_BYTES) return null;
  if (bytes.toString("base64url") !== text) return null;
  const hex = bytes.toString("hex");
  const requestId = uuidOfHex(hex.slice(ID_BYTES * 2, (ID_BYTES + UUID_BYTES) * 2));
  if (!isUuid(requestId)) return null;
  return { senderId: hex.slice(0, ID_BYTES * 2), requestId, secret: hex.slice(-SECRET_BYTES * 2) };
}
