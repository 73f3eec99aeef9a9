import { codePointName, invisibleCharacterIn } from "./invisibleCharacters.ts";
import { codePoints } from "./text.ts";

/** Of names that say nothing else. */
export const SHOWN_NAME_CHARACTERS_MAX = 200;
/** What breaks a line or a terminal, or would make a name read otherwise than it is. */
const NOT_IN_NAMES = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

/** What is wrong with a name that people are shown: of a key, a template, a sender. Null: nothing. */
export function shownNameFault(
  name: string,
  charactersMax: number = SHOWN_NAME_CHARACTERS_MAX,
): string | null {
  if (NOT_IN_NAMES.test(name) || name.trim() === "")
    return "must have visible characters, and no control characters";
  const unseen = invisibleCharacterIn(name);
  if (unseen !== null) return `must not hold ${codePointName(unseen)}, which cannot be seen`;
  return codePoints(name) <= charactersMax ? null : `must have at most ${charactersMax} characters`;
}
