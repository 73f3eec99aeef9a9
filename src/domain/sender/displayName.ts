import { codePointName, invisibleCharacterIn } from "../../kernel/text/invisibleCharacters.ts";
import { codePoints } from "../../kernel/text/text.ts";

/** Of the name that a sender has by default. */
export const DISPLAY_NAME_CHARACTERS_MAX = 200;
/** What a header cannot hold, or would make a name read otherwise than it is. */
const NOT_IN_NAMES = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

/** What is wrong with the display name for an address in a header; null: nothing. */
export function displayNameFault(
  name: string,
  charactersMax: number = DISPLAY_NAME_CHARACTERS_MAX,
): string | null {
  if (NOT_IN_NAMES.test(name) || name.trim() === "")
    return "must have visible characters, and no control characters";
  const unseen = invisibleCharacterIn(name);
  if (unseen !== null) return `must not hold ${codePointName(unseen)}, which cannot be seen`;
  return codePoints(name) <= charactersMax ? null : `must have at most ${charactersMax} characters`;
}
