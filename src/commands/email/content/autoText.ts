import { TEXT_CHARACTERS_MAX } from "../../../domain/email/contentLimits.ts";
import type { EmailContent } from "../../../domain/email/events.ts";
import { grouped } from "../../../kernel/text/readableNumbers.ts";
import { codePoints } from "../../../kernel/text/textLength.ts";
import { StoreError } from "../../../ports/eventStore.ts";
import type { Dependencies } from "../../dependencies.ts";

/** Why a send is refused whose text cannot be made. */
export const NO_AUTO_TEXT = {
  pointer: "/auto_text",
  message: `cannot be made of this html: it takes too long to read, or has more than ${grouped(TEXT_CHARACTERS_MAX)} characters of text; give text`,
};

/**
 * The content with a text made of its html, where it has html and no text. Null when none can be made; html without
 * anything to read stays without a text. Throws `StoreError` when there is no time for it now.
 */
export async function withAutoText(
  { htmlToText }: Pick<Dependencies, "htmlToText">,
  content: EmailContent,
): Promise<EmailContent | null> {
  if (content.html === undefined || content.text !== undefined) return content;
  const reading = await htmlToText.read(content.html);
  if (reading.kind === "busy") throw new StoreError("unavailable", "too many texts are being made of html");
  if (reading.kind === "unreadable" || codePoints(reading.text) > TEXT_CHARACTERS_MAX) return null;
  return reading.text === "" ? content : { ...content, text: reading.text };
}
