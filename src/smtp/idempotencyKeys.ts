import type { Dependencies } from "../commands/dependencies.ts";
import { readEmailState } from "../commands/email/readEmail.ts";
import { emailId } from "../domain/email/idempotency.ts";
import { checkedIdempotencyKey } from "../http/email/idempotencyKey.ts";
import { sha256Of } from "../kernel/crypto/sha256.ts";
import type { MailOwner } from "../kernel/liveOrTestOwner.ts";
import type { Address } from "../kernel/text/emailAddress.ts";
import type { ParsedMail } from "../ports/submission/mailParser.ts";
import { fieldOf } from "./sendRequestFromMail.ts";

/** The key in a mail; null if it has none. Throws if it is invalid. */
export function givenKeyOf(mail: ParsedMail): string | null {
  const given = fieldOf(mail, "x-idempotency-key");
  return given === null ? null : checkedIdempotencyKey(given, "/X-Idempotency-Key");
}

/**
 * The Idempotency-Key of each recipient's message. With one recipient, a key in the mail is used as it is, so it can be
 * looked up. Otherwise the key, or else the Message-ID, or else `ownKey`, is hashed together with the recipient. A
 * recipient who has a message under the other form of the given key keeps that: a client may repeat a mail for some of
 * its recipients, or for more. Throws `StoreError`.
 */
export async function idempotencyKeysOf(
  deps: Pick<Dependencies, "store" | "keys">,
  owner: MailOwner,
  { mail, ownKey }: { readonly mail: ParsedMail; readonly ownKey: string },
  recipients: readonly Address[],
): Promise<readonly string[]> {
  const given = givenKeyOf(mail);
  if (given === null) {
    const messageId = fieldOf(mail, "message-id")?.trim() ?? "";
    return recipients.map(messageId === "" ? keyFrom("own", ownKey) : keyFrom("id", messageId));
  }
  const read = (key: string) => readEmailState(deps.store, emailId(owner, key));
  const ofRecipient = keyFrom("key", given);
  const [only] = recipients;
  if (only !== undefined && recipients.length === 1) {
    return [(await read(ofRecipient(only))) === null ? given : ofRecipient(only)];
  }
  const usedFor = (await read(given))?.recipientHash;
  const hashOf = ({ canonical }: Address) => deps.keys.hashAddress(owner.workspaceId, canonical);
  return recipients.map((recipient) => (hashOf(recipient) === usedFor ? given : ofRecipient(recipient)));
}

function keyFrom(kind: "key" | "id" | "own", value: string) {
  return ({ canonical }: Address) => `smtp-${sha256Of(`${kind}\0${value}\0${canonical}`)}`;
}
