import { withoutAddresses, withoutEncoded, withoutTexts, withPlainAt } from "../../kernel/text/redaction.ts";
import { excerpt } from "../../kernel/text/textLength.ts";

/** How much of an endpoint's answer the log keeps, in characters. */
const EXCERPT_CHARACTERS_MAX = 1_000;
/** How much of it is scanned: the endpoint chooses the answer, and its owner the texts to look for in it. */
const CHARACTERS_SCANNED_MAX = 4_096;

/** The texts of a payload's metadata that an answer may repeat. */
function metadataTexts(metadata: unknown): readonly string[] {
  if (typeof metadata !== "object" || metadata === null) return [];
  return Object.entries(metadata).flatMap(([name, value]) =>
    typeof value === "boolean" ? [name] : [name, String(value)],
  );
}

/** What a payload tells of the content of a message. */
interface ToldContent {
  readonly metadata: unknown;
  /** The addresses and the subject, if the endpoint is sent them. */
  readonly included: readonly string[];
}

/**
 * The beginning of an endpoint's answer for the log, without texts of the payload: endpoints echo what they receive, and
 * that must not outlive the erasure of the message.
 */
export function redactResponse(body: string, { metadata, included }: ToldContent): string {
  const texts = [...included, ...metadataTexts(metadata)];
  const beginning = excerpt(body, CHARACTERS_SCANNED_MAX);
  const decoded = withoutEncoded(withPlainAt(beginning), texts, "<encoded>");
  const redacted = withoutAddresses(withoutTexts(decoded, texts, "<content>"), "<address>");
  // The scan may end inside a text, whose beginning we cannot recognise. If redaction left so little that this end would
  // be kept, we keep nothing: most of the answer repeated the payload anyway.
  const showsCut = body.length > beginning.length && redacted.length <= EXCERPT_CHARACTERS_MAX;
  return showsCut ? "" : excerpt(redacted, EXCERPT_CHARACTERS_MAX);
}
