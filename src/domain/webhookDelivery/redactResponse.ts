import { withoutAddresses, withoutEncoded, withoutTexts } from "../../kernel/text/redaction.ts";
import { excerpt } from "../../kernel/text/textLength.ts";

/** How much of an endpoint's answer the log keeps, in characters. */
const EXCERPT_CHARACTERS_MAX = 1_000;
/** How much of it is looked at. The endpoint chooses the answer, and its owner what is looked for in it. */
const CHARACTERS_SCANNED_MAX = 4_096;

/** What of a payload's metadata an answer may repeat. */
function textsOf(metadata: unknown): readonly string[] {
  if (typeof metadata !== "object" || metadata === null) return [];
  return Object.entries(metadata).flatMap(([name, value]) =>
    typeof value === "boolean" ? [name] : [name, String(value)],
  );
}

/**
 * The beginning of an endpoint's answer for the log, without what it may repeat of the payload: endpoints echo what
 * they are sent, and that must be gone when the message is erased.
 */
export function redactResponse(body: string, metadata: unknown): string {
  const texts = textsOf(metadata);
  const beginning = excerpt(body, CHARACTERS_SCANNED_MAX);
  const decoded = withoutEncoded(beginning, texts, "<encoded>");
  const redacted = withoutAddresses(withoutTexts(decoded, texts, "<metadata>"), "<address>");
  // Where it was cut may stand the beginning of a text, which nobody recognises. Then most of it was repeated anyway.
  const showsCut = body.length > beginning.length && redacted.length <= EXCERPT_CHARACTERS_MAX;
  return showsCut ? "" : excerpt(redacted, EXCERPT_CHARACTERS_MAX);
}
