import { addressForms, withoutAddresses, withoutTexts } from "../../../kernel/text/redaction.ts";
import { excerpt } from "../../../kernel/text/textLength.ts";
import type { EmailContent } from "../events.ts";

/** How much of a relay's reply the log keeps, in characters. */
const REPLY_CHARACTERS_MAX = 500;

function replaceAllOf(text: string, address: string, name: string): string {
  return text.replace(new RegExp(`<?${RegExp.escape(address)}>?`, "gi"), name);
}

/** What a relay may quote of a message. */
type QuotableContent = Pick<EmailContent, "from" | "to" | "toName" | "replyTo" | "replyToName" | "subject">;

/**
 * Removes the addresses that relays like to quote: no outcome event carries one, not even of somebody to whom the
 * recipient's mail is forwarded. Also removes names and the subject, which filters and returned mail quote.
 */
export function redactRelayReply(
  reply: string,
  { from, to, toName = "", replyTo = "", replyToName = "", subject }: QuotableContent,
): string {
  let redacted = reply;
  for (const form of addressForms(to)) redacted = replaceAllOf(redacted, form, "<recipient>");
  for (const form of addressForms(from)) redacted = replaceAllOf(redacted, form, "<sender>");
  const withoutContent = withoutTexts(redacted, [replyTo, subject, toName, replyToName], "<content>");
  return excerpt(withoutAddresses(withoutContent, "<address>"), REPLY_CHARACTERS_MAX);
}
