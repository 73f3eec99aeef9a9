import { TEXT_CHARACTERS_MAX } from "../../../domain/email/contentLimits.ts";
import type { EmailContent } from "../../../domain/email/events.ts";
import { grouped } from "../../../kernel/text/readableNumbers.ts";
import { codePoints } from "../../../kernel/text/textLength.ts";
import { StoreError } from "../../../ports/eventStore.ts";
import type { Dependencies } from "../../dependencies.ts";

/** The fault of a send whose text cannot be made. */
export const NO_AUTO_TEXT = {
  pointer: "/auto_text",
  message: `cannot be made of this html: it takes too long to read, or has more than ${grouped(TEXT_CHARACTERS_MAX)} characters of text; give text`,
};

/**
 * Adds a text made of the html to content without one. Null if none can be made. Html without readable text stays
 * without. Throws `StoreError` if too many texts are being made already.
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
