import { excerpt } from "../../kernel/text.ts";

/** How much of a relay's answer the log keeps, in characters. */
const REPLY_CHARACTERS_MAX = 500;

function replaceAllOf(text: string, address: string, name: string): string {
  const escaped = address.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return text.replace(new RegExp(`<?${escaped}>?`, "gi"), name);
}

/** A relay's answer without the two addresses that relays like to repeat: no outcome event carries an address. */
export function redactReply(reply: string, sender: string, recipient: string): string {
  const withoutRecipient = replaceAllOf(reply, recipient, "<recipient>");
  return excerpt(replaceAllOf(withoutRecipient, sender, "<sender>"), REPLY_CHARACTERS_MAX);
}
