import { addressForms, withoutAddresses, withoutTexts } from "../../../kernel/text/redaction.ts";
import { excerpt } from "../../../kernel/text/textLength.ts";

/** How much of a relay's reply the log keeps, in characters. */
const REPLY_CHARACTERS_MAX = 500;

function replaceAllOf(text: string, address: string, name: string): string {
  return text.replace(new RegExp(`<?${RegExp.escape(address)}>?`, "gi"), name);
}

/**
 * Removes the addresses that relays like to quote: no outcome event carries one, not even of somebody to whom the
 * recipient's mail is forwarded. `others` are texts of the message that filters quote, such as its subject.
 */
export function redactRelayReply(
  reply: string,
  sender: string,
  recipient: string,
  others: readonly string[] = [],
): string {
  let redacted = reply;
  for (const form of addressForms(recipient)) redacted = replaceAllOf(redacted, form, "<recipient>");
  for (const form of addressForms(sender)) redacted = replaceAllOf(redacted, form, "<sender>");
  const withoutContent = withoutTexts(redacted, others, "<content>");
  return excerpt(withoutAddresses(withoutContent, "<address>"), REPLY_CHARACTERS_MAX);
}
