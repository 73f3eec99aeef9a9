import { isUuid } from "../../kernel/ids.ts";
import { domainOf } from "../../kernel/text/emailAddress.ts";

/** The Message-ID (RFC 5322 §3.6.4): the same for every attempt, so receivers can drop duplicates. */
export function messageIdOf(id: string, from: string): string {
  return `<${id}@${domainOf(from)}>`;
}

/** One id with a domain, alone or in angle brackets. */
const MESSAGE_ID = /^(?:<([^<>@\s]+)@[^<>@\s]+>|([^<>@\s]+)@[^<>@\s]+)$/;

/**
 * The id in a Message-ID of the form that we give, in lower case; null if it has another form. Other programs give this
 * form too: only the log says whether there is such a message.
 */
export function emailIdOfMessageId(messageId: string): string | null {
  const [, bracketed, bare] = MESSAGE_ID.exec(messageId.trim()) ?? [];
  const id = bracketed ?? bare ?? "";
  return isUuid(id) ? id.toLowerCase() : null;
}
